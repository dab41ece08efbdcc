/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fault.h"
#include "runner/command/regress/inputs.h"
#include "tests/unit/scratch.h"

#include <stdlib.h>

/* A state with a ledger, and a target with an in-tree corpus; the inputs go to "work". */
struct fixture {
	struct scratch s;
	struct state state;
	struct ledger *ledger;
	struct target target;
	struct plan_entry entry;
	struct regress_sources sources;
	char tree[100];
	int work;
};

static void make(struct fixture *f, const char *ledger)
{
	struct err e;

	*f = (struct fixture){.s = SCRATCH_INIT};
	scratch_make(&f->s);
	snprintf(f->tree, sizeof(f->tree), "%s/tree", f->s.path);
	assert_int_equal(mkdirat(f->s.fd, "tree", 0755), 0);
	assert_int_equal(mkdirat(f->s.fd, "work", 0755), 0);
	f->work = openat(f->s.fd, "work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->state = (struct state){.path = f->s.path, .dirfd = f->s.fd};
	assert_int_equal(ledger_parse(slice_of(ledger), &f->ledger, &e), 0);
	f->target = (struct target){.name = (char[]){"t"}};
	f->target.name = strdup("t");
	strv_push(&f->target.seed_dirs, f->tree);
	f->entry = (struct plan_entry){.target = &f->target};
	f->sources =
	    (struct regress_sources){.state = &f->state, .ledger = f->ledger, .target = &f->entry};
}

static void drop(struct fixture *f)
{
	ledger_free(f->ledger);
	free(f->target.name);
	strv_done(&f->target.seed_dirs);
	strv_done(&f->entry.cfg.seeds);
	close(f->work);
	scratch_remove(&f->s);
}

static struct regress_inputs lay(struct fixture *f, struct regress_left *left)
{
	struct regress_inputs in = {0};
	struct err e;

	if (regress_inputs_lay(&f->sources, f->work, "t", left, &e) < 0 ||
	    regress_inputs_load(f->work, "t", &in, &e) < 0)
		fail_msg("%s", e.msg);
	return in;
}

static const struct regress_input *of(const struct regress_inputs *in, const char *tail)
{
	for (size_t i = 0; i < in->n; i++) {
		size_t n = strlen(in->v[i].source), m = strlen(tail);

		if (n >= m && strcmp(in->v[i].source + n - m, tail) == 0)
			return &in->v[i];
	}
	return NULL;
}

static void test_sources(void **state)
{
	struct fixture f;
	struct regress_left left;
	char path[64];
	struct regress_inputs in;

	(void)state;
	make(&f, "{\"aa\": {\"fuzzer\": \"t\", \"crash_file\": \"crashes/aa/input\","
		 "         \"minimized\": \"crashes/aa/minimized\"},"
		 " \"bb\": {\"fuzzer\": \"other\", \"crash_file\": \"crashes/bb/input\"},"
		 " \"cc\": {\"v\": 2, \"fuzzer\": \"other\", \"found_by\": [{\"fuzzer\": "
		 "\"other\", \"crash_file\":"
		 "  \"crashes/cc/input\"}, {\"fuzzer\": \"t\"}]}}");
	assert_int_equal(mkdirat(f.s.fd, "tree/deep", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "crashes", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "crashes/aa", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "crashes/bb", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "crashes/cc", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "regressions", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "regressions/t", 0755), 0);
	scratch_write(f.s.fd, "tree/one", "1");
	scratch_write(f.s.fd, "tree/deep/two words\n", "2");
	scratch_write(f.s.fd, "tree/.hidden", "h");
	scratch_write(f.s.fd, "tree/empty", "");
	scratch_write(f.s.fd, "crashes/aa/input", "crash");
	scratch_write(f.s.fd, "crashes/aa/minimized", "1"); /* same content as in the tree */
	scratch_write(f.s.fd, "crashes/bb/input", "no");
	scratch_write(f.s.fd, "crashes/cc/input", "yes");
	scratch_write(f.s.fd, "regressions/t/x", "fixed");
	in = lay(&f, &left);
	assert_int_equal(left.n, 0);
	assert_int_equal(in.n, 6);
	/* The path in the tree, and the place of the crash. */
	assert_int_equal(of(&in, "tree/one")->from, REGRESS_CRASH);
	/* SHA-1 of "1" */
	assert_string_equal(of(&in, "tree/one")->name, "356a192b7913b04c54574d18c28d46e6395428ab");
	assert_non_null(of(&in, "tree/deep/two words\n"));
	assert_non_null(of(&in, "tree/empty"));
	assert_int_equal(of(&in, "crashes/aa/input")->from, REGRESS_CRASH);
	assert_null(of(&in, "crashes/aa/minimized"));
	assert_non_null(of(&in, "crashes/cc/input"));
	assert_int_equal(of(&in, "regressions/t/x")->from, REGRESS_REGRESSION);
	for (size_t i = 0; i < in.n; i++) {
		struct stat st;

		snprintf(path, sizeof(path), "t/%s", in.v[i].name);
		assert_int_equal(fstatat(f.work, path, &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0644); /* cells read it */
	}
	regress_inputs_done(&in);
	/* A second call removes files that no longer exist. */
	assert_int_equal(unlinkat(f.s.fd, "tree/empty", 0), 0);
	in = lay(&f, &left);
	assert_int_equal(in.n, 5);
	regress_inputs_done(&in);
	drop(&f);
}

/* All known inputs, in the order of their likelihood to fail. */
static void test_order(void **state)
{
	struct fixture f;
	struct regress_left left;
	struct regress_inputs in;
	char seeds[100];

	(void)state;
	make(&f, "{\"aa\": {\"fuzzer\": \"t\", \"crash_file\": \"crashes/aa/input\"}}");
	snprintf(seeds, sizeof(seeds), "%s/seeds", f.s.path);
	strv_push(&f.entry.cfg.seeds, seeds);
	assert_int_equal(mkdirat(f.s.fd, "seeds", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "crashes", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "crashes/aa", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "regressions", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "regressions/t", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "corpus", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "corpus/t", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "corpus/other", 0755), 0);
	scratch_write(f.s.fd, "corpus/t/a", "of the corpus");
	scratch_write(f.s.fd, "corpus/t/b", "one");
	scratch_write(f.s.fd, "corpus/other/a", "another's");
	scratch_write(f.s.fd, "seeds/a", "a seed");
	scratch_write(f.s.fd, "tree/one", "one");
	scratch_write(f.s.fd, "crashes/aa/input", "crash");
	scratch_write(f.s.fd, "regressions/t/x", "fixed");
	in = lay(&f, &left);
	assert_int_equal(left.n, 0);
	assert_int_equal(in.n, 5);
	assert_string_equal(in.v[0].source, "crashes/aa/input");
	assert_string_equal(in.v[1].source, "regressions/t/x");
	assert_int_equal(in.v[2].from, REGRESS_TREE);
	assert_int_equal(in.v[3].from, REGRESS_SEEDS);
	assert_string_equal(in.v[4].source, "corpus/t/a");
	assert_int_equal(in.v[4].from, REGRESS_CORPUS);
	regress_inputs_done(&in);
	drop(&f);
}

/* Files that cannot be inputs are counted, the first is named, and the rest still runs. */
static void test_strange(void **state)
{
	struct fixture f;
	struct regress_inputs in;
	struct regress_left left;

	(void)state;
	make(&f, "{\"aa\": {\"fuzzer\": \"t\", \"crash_file\": \"crashes/aa/gone\"}}");
	assert_int_equal(symlinkat("/etc/passwd", f.s.fd, "tree/link"), 0);
	assert_int_equal(mkfifoat(f.s.fd, "tree/fifo", 0644), 0);
	scratch_write(f.s.fd, "tree/good", "good");
	in = lay(&f, &left);
	assert_int_equal(in.n, 1);
	assert_non_null(of(&in, "tree/good"));
	assert_int_equal(left.n, 3);
	assert_non_null(strstr(left.why, "not a regular file"));
	regress_inputs_done(&in);
	drop(&f);
}

/* A changed reproducer is no pass; the other one still runs. */
static void test_damaged(void **state)
{
	struct fixture f;
	struct regress_inputs in;
	struct regress_left left;

	(void)state;
	make(&f, "{\"aa\": {\"fuzzer\": \"t\", \"crash_file\": \"crashes/aa/input\","
		 "         \"input_bytes\": 5, \"minimized\": \"crashes/aa/minimized\","
		 "         \"minimized_bytes\": 1},"
		 " \"bb\": {\"fuzzer\": \"t\", \"crash_file\": \"/etc/passwd\"},"
		 " \"cc\": {\"fuzzer\": \"t\", \"crash_file\": \"crashes/link/minimized\"}}");
	assert_int_equal(mkdirat(f.s.fd, "crashes", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "crashes/aa", 0755), 0);
	assert_int_equal(symlinkat("aa", f.s.fd, "crashes/link"), 0);
	scratch_write(f.s.fd, "crashes/aa/input", "");
	scratch_write(f.s.fd, "crashes/aa/minimized", "1");
	in = lay(&f, &left);
	assert_int_equal(in.n, 1);
	assert_non_null(of(&in, "crashes/aa/minimized"));
	assert_int_equal(left.n, 3);
	assert_string_equal(left.why, "'crashes/aa/input' is damaged: 0 bytes, not 5");
	regress_inputs_done(&in);
	drop(&f);
}

static void test_archive(void **state)
{
	struct fixture f;
	struct regress_inputs in;
	struct regress_left left;
	char zip[100];

	(void)state;
	make(&f, "{}");
	snprintf(zip, sizeof(zip), "%s/t_seed_corpus.zip", f.s.path);
	scratch_write(f.s.fd, "t_seed_corpus.zip", "PK\x03\x04 no archive");
	f.target.seed_archive = zip;
	scratch_write(f.s.fd, "tree/good", "good");
	in = lay(&f, &left);
	assert_int_equal(in.n, 1);
	assert_int_equal(left.n, 1);
	assert_non_null(strstr(left.why, "t_seed_corpus.zip"));
	regress_inputs_done(&in);
	drop(&f);
}

/* A missing directory may be a typo: it is reported. */
static void test_missing(void **state)
{
	struct fixture f;
	struct regress_inputs in;
	struct regress_left left;

	(void)state;
	make(&f, "{}");
	strv_push(&f.entry.cfg.seeds, "/no/such/dir");
	in = lay(&f, &left);
	assert_int_equal(in.n, 0);
	assert_int_equal(left.n, 1);
	assert_string_equal(left.why, "/no/such/dir: No such file or directory");
	regress_inputs_done(&in);
	drop(&f);
}

/* Every failing call is an error, or a file that is reported as left out.  No list is incomplete
 * without a report. */
static void test_faults(void **state)
{
	struct fixture f;
	unsigned failed = 0;

	(void)state;
	make(&f, "{\"aa\": {\"fuzzer\": \"t\", \"crash_file\": \"tree/two\"}}");
	scratch_write(f.s.fd, "tree/one", "1");
	scratch_write(f.s.fd, "tree/two", "2");
	for (unsigned nth = 1;; nth++) {
		struct regress_inputs in = {0};
		struct regress_left left = {0};
		struct err e;
		int r;

		fault_arm(nth, FAULT_FAIL);
		r = regress_inputs_lay(&f.sources, f.work, "t", &left, &e);
		if (r == 0)
			r = regress_inputs_load(f.work, "t", &in, &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0 && left.n == 0) {
			assert_int_equal(in.n, 2);
			regress_inputs_done(&in);
			/* The fault was recovered from, or all calls were tried. */
			if (nth > 100)
				break;
			continue;
		}
		failed++;
		regress_inputs_done(&in);
	}
	assert_true(failed >= 20);
	drop(&f);
}

static void test_damaged_list(void **state)
{
	static const char *const bad[] = {"short",
					  "356a192b7913b04c54574d18c28d46e6395428ab9/source"};
	struct fixture f;
	struct regress_inputs in = {0};
	struct err e;

	(void)state;
	make(&f, "{}");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		scratch_write(f.work, "t.list", bad[i]);
		assert_int_equal(regress_inputs_load(f.work, "t", &in, &e), -EBADMSG);
	}
	drop(&f);
}

/* A check variant runs its own crashes and regressions; with all, also what the target has. */
static void test_variant(void **state)
{
	struct fixture f;
	struct regress_left left;
	struct regress_inputs in;

	(void)state;
	make(&f, "{\"aa\": {\"v\": 2, \"aliases\": [\"bb\"], \"found_by\": [{\"fuzzer\": \"t\", "
		 "\"kind\": \"asan\", \"crash_file\": \"crashes/aa/input\"}, {\"fuzzer\": \"t@u\", "
		 "\"build_of\": \"t\"}]}, \"bb\": {\"fuzzer\": \"t@u\", \"kind\": \"ubsan\", "
		 "\"crash_file\": \"crashes/bb/input\", \"merged_into\": \"aa\"}}");
	assert_int_equal(mkdirat(f.s.fd, "crashes", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "crashes/aa", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "crashes/bb", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "regressions", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "regressions/t", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "regressions/t@u", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "corpus", 0755), 0);
	assert_int_equal(mkdirat(f.s.fd, "corpus/t", 0755), 0);
	scratch_write(f.s.fd, "tree/one", "in the tree");
	scratch_write(f.s.fd, "crashes/aa/input", "of t");
	scratch_write(f.s.fd, "crashes/bb/input", "of t@u");
	scratch_write(f.s.fd, "regressions/t/x", "fixed in t");
	scratch_write(f.s.fd, "regressions/t@u/x", "fixed in t@u");
	scratch_write(f.s.fd, "corpus/t/y", "covered");
	free(f.target.name);
	f.target.name = strdup("t@u");
	f.target.of = (char[]){"t"};
	f.target.role = ROLE_CHECK;
	in = lay(&f, &left);
	/* The other build's input has the same crash, but this build has an input of its own. */
	assert_int_equal(left.n, 0);
	assert_int_equal(in.n, 2);
	assert_non_null(of(&in, "crashes/bb/input"));
	assert_non_null(of(&in, "regressions/t@u/x"));
	regress_inputs_done(&in);
	f.sources.all = true;
	in = lay(&f, &left);
	assert_int_equal(in.n, 4);
	assert_non_null(of(&in, "tree/one"));
	assert_non_null(of(&in, "corpus/t/y"));
	regress_inputs_done(&in);
	drop(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_variant), cmocka_unit_test(test_sources),
    cmocka_unit_test(test_order),   cmocka_unit_test(test_strange),
    cmocka_unit_test(test_archive), cmocka_unit_test(test_missing),
    cmocka_unit_test(test_faults),  cmocka_unit_test(test_damaged_list),
    cmocka_unit_test(test_damaged),
};

UNIT_MAIN(tests)
