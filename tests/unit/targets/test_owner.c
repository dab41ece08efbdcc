/* SPDX-License-Identifier: Apache-2.0 */
/* Another user's tree, as root: no file that this user could not read is opened.  User 4321 has
 * no account. */
#include "tests/unit/targets/archives.h"

#include "runner/corpus/store.h"

enum { THEM = 4321 };

struct place_of {
	struct tree theirs, ours; /* ours: only root may enter it */
	struct target_list l;
};

static void give(struct tree *t, const char *name, uid_t uid)
{
	assert_int_equal(fchownat(t->fd, name, uid, 0, AT_SYMLINK_NOFOLLOW), 0);
}

static void begin(struct place_of *p)
{
	if (geteuid() != 0)
		skip();
	*p = (struct place_of){0};
	tree_make(&p->theirs);
	tree_make(&p->ours);
	tree_program(&p->theirs, "x", MARK);
	tree_program(&p->ours, "x", MARK);
	tree_file(&p->ours, "x.dict", "\"a\"\n");
	tree_file(&p->ours, "x.options", "[libfuzzer]\nmax_len = 1\n");
	assert_int_equal(mkdirat(p->ours.fd, "seeds", 0755), 0);
	tree_file(&p->ours, "seeds/secret", "secret");
	tree_file(&p->ours, "s.zip", "");
	assert_int_equal(fchmod(p->ours.fd, 0700), 0);
	assert_int_equal(fchown(p->theirs.fd, THEM, 0), 0);
}

static void end(struct place_of *p)
{
	target_list_done(&p->l);
	tree_done(&p->theirs);
	tree_done(&p->ours);
}

/* "@" in a text is replaced by our directory. */
static int load(struct place_of *p, const char *text, struct err *e)
{
	char all[1000] = "";

	for (; *text; text++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), *text == '@' ? "%s" : "%.1s",
			 *text == '@' ? p->ours.path : text);
	tree_file(&p->theirs, "m.json", all);
	give(&p->theirs, "m.json", THEM);
	target_list_done(&p->l);
	p->l = (struct target_list){0};
	return tree_add(&p->theirs, "manifest", "m.json", &p->l, e);
}

#define X(more) "{\"targets\": [{\"name\": \"x\", \"binary\": \"x\"" more "}]}"

static const struct {
	const char *key, *text;
} wrong[] = {
    {"binary", "{\"targets\": [{\"name\": \"x\", \"binary\": \"@/x\"}]}"},
    {"files", X(", \"files\": \"@\"")},
    {"dict", X(", \"dict\": \"@/x.dict\"")},
    {"options", X(", \"options\": \"@/x.options\"")},
    {"seeds[0]", X(", \"seeds\": [\"@/seeds\"]")},
    {"seeds[1]", X(", \"seeds\": [\"/usr\", \"@/s.zip\"]")},
    {"seeds[0]", X(", \"seeds\": [\"link\"]")},
};

static void test_manifest(void **state)
{
	char to[80], want[400];
	struct place_of p;
	struct err e;

	(void)state;
	begin(&p);
	snprintf(to, sizeof(to), "%s/seeds", p.ours.path);
	assert_int_equal(symlinkat(to, p.theirs.fd, "link"), 0);
	give(&p.theirs, "link", THEM);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(load(&p, wrong[i].text, &e), -EACCES);
		snprintf(want, sizeof(want), "%s/m.json: targets[0] (\"x\"): %s: '", p.theirs.path,
			 wrong[i].key);
		assert_memory_equal(e.msg, want, strlen(want));
		assert_non_null(strstr(e.msg, "': Permission denied (opened with the rights of "
					      "user 4321, who owns a part of the path)"));
	}
	/* A user's manifest may name files that the user can read; our own manifest may name any
	 * file. */
	assert_int_equal(load(&p, X(", \"seeds\": [\"/usr\"]"), &e), 0);
	assert_int_equal(p.l.v[0].rights.uid, THEM);
	assert_int_equal(fchown(p.theirs.fd, 0, 0), 0);
	assert_int_equal(load(&p, wrong[4].text, &e), -EACCES); /* the file is still theirs */
	give(&p.theirs, "m.json", 0);
	give(&p.theirs, "link", 0);
	target_list_done(&p.l);
	p.l = (struct target_list){0};
	assert_int_equal(tree_add(&p.theirs, "manifest", "m.json", &p.l, &e), 0);
	assert_false(p.l.v[0].rights.other);
	end(&p);
}

/* Links out of the directory are never followed, but a file in it may belong to another user (a
 * hard link). */
static void test_directory(void **state)
{
	struct place_of p;
	struct err e;

	(void)state;
	begin(&p);
	tree_file(&p.theirs, "x.dict", "\"a\"\n");
	tree_file(&p.theirs, "x_seed_corpus.zip", "");
	assert_int_equal(fchmodat(p.theirs.fd, "x_seed_corpus.zip", 0600, 0), 0);
	tree_program(&p.theirs, "y", MARK);
	assert_int_equal(fchmodat(p.theirs.fd, "y", 0700, 0), 0);
	assert_int_equal(tree_add(&p.theirs, "directory", "", &p.l, &e), 0);
	assert_int_equal(p.l.n, 1);
	assert_non_null(p.l.v[0].dict);
	assert_null(p.l.v[0].seed_archive);
	assert_int_equal(p.l.v[0].rights.uid, THEM);
	expect_note(&p.l, "/x_seed_corpus.zip", true, "cannot be opened: Permission denied");
	expect_note(&p.l, "/y", true, "cannot be opened: Permission denied");
	end(&p);
}

/* Between its discovery and its use the file becomes a link. */
static void test_later(void **state)
{
	struct seeds_result unpacked;
	struct store_sum sum = {0};
	struct place_of p;
	const struct target *t;
	struct bench out;
	struct err e;
	char to[80];

	(void)state;
	begin(&p);
	bench_make(&out);
	assert_int_equal(mkdirat(p.theirs.fd, "seeds", 0755), 0);
	tree_file(&p.theirs, "s.zip", "");
	assert_int_equal(load(&p, X(", \"seeds\": [\"seeds\", \"s.zip\"]"), &e), 0);
	t = &p.l.v[0];
	assert_int_equal(store_seeds_as(&t->rights, AT_FDCWD, t->seed_dirs.v[0], out.out, &sum, &e),
			 0);
	assert_int_equal(unlinkat(p.theirs.fd, "seeds", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(p.theirs.fd, "s.zip", 0), 0);
	snprintf(to, sizeof(to), "%s/seeds", p.ours.path);
	assert_int_equal(symlinkat(to, p.theirs.fd, "seeds"), 0);
	snprintf(to, sizeof(to), "%s/s.zip", p.ours.path);
	assert_int_equal(symlinkat(to, p.theirs.fd, "s.zip"), 0);
	assert_int_equal(store_seeds_as(&t->rights, AT_FDCWD, t->seed_dirs.v[0], out.out, &sum, &e),
			 -EACCES);
	assert_int_equal(discover_unpack(t->seed_archive,
					 &(struct seeds_to){.dirfd = out.out, .rights = &t->rights},
					 &unpacked, &e),
			 -EACCES);
	assert_int_equal(count_files(&out), 0);
	/* With our rights the file would be readable: only the user's rights keep it out. */
	assert_int_equal(store_seeds(AT_FDCWD, t->seed_dirs.v[0], out.out, &sum, &e), 0);
	assert_int_equal(count_files(&out), 1);
	bench_done(&out);
	end(&p);
}

/* Our file in the user's directory is skipped, the user's own file is used. */
static void test_files(void **state)
{
	const struct rights them = {.other = true, .uid = THEM, .gid = 65534};
	struct store_sum sum = {0};
	struct place_of p;
	struct bench out;
	struct err e;

	(void)state;
	begin(&p);
	bench_make(&out);
	assert_int_equal(mkdirat(p.theirs.fd, "seeds", 0755), 0);
	tree_bytes(&p.theirs, "seeds/ours", SLICE("root's"), 0600);
	tree_bytes(&p.theirs, "seeds/theirs", SLICE("theirs"), 0600);
	give(&p.theirs, "seeds/theirs", THEM);
	tree_bytes(&p.theirs, "seeds/all", SLICE("for all"), 0644);
	assert_int_equal(store_seeds_as(&them, p.theirs.fd, "seeds", out.out, &sum, &e), 0);
	assert_int_equal(sum.files, 2);
	assert_int_equal(sum.skipped, 1);
	expect_seed(&out, SLICE("theirs"));
	expect_seed(&out, SLICE("for all"));
	bench_done(&out);
	end(&p);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_manifest),
    cmocka_unit_test(test_directory),
    cmocka_unit_test(test_later),
    cmocka_unit_test(test_files),
};

UNIT_MAIN(tests)
