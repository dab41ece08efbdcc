/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/corpus/workdir.h"
#include "tests/unit/corpus/merge.h"

#include <sched.h>
#include <sys/mount.h>

static struct scratch dir;
static int from, stage, corpus, quarantined;

static int each_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	from = make_dir_at(dir.fd, "from");
	stage = make_dir_at(dir.fd, "stage");
	corpus = make_dir_at(dir.fd, "corpus");
	quarantined = make_dir_at(dir.fd, "quarantine");
	umask(022);
	return 0;
}

static int each_teardown(void **state)
{
	(void)state;
	close(from);
	close(stage);
	close(corpus);
	close(quarantined);
	scratch_remove(&dir);
	return 0;
}

/* Readable for all, as the store writes inputs. */
static void input(int at, const char *name, const char *content)
{
	scratch_write(at, name, content);
	assert_int_equal(fchmodat(at, name, 0644, 0), 0);
}

static void stage_all(struct stage_sum *io)
{
	struct err e = {0};

	if (shard_stage(dir.fd, "from", stage, io, &e) < 0)
		fail_msg("%s", e.msg);
}

static ino_t inode_of(int at, const char *name)
{
	struct stat st = {0};

	assert_int_equal(fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_ino;
}

/* --- the stage ------------------------------------------------------------------------ */

static void test_stage(void **state)
{
	struct stage_sum sum = {0};
	char own[STORE_NAME];
	struct stat st;

	(void)state;
	snprintf(own, sizeof(own), "%s", name_of("first"));
	input(from, own, "first");
	input(from, "a person's seed\n", "second");
	input(from, "again", "first");
	input(from, "empty", "");
	input(from, ".hidden", "hidden");
	close(make_dir_at(dir.fd, "from/d/e"));
	input(dir.fd, "from/d/e/f", "third");
	stage_all(&sum);
	assert_int_equal(sum.files, 4);
	assert_int_equal(sum.bytes, 16);
	assert_int_equal(sum.copied, 0);
	assert_int_equal(sum.skipped, 0);
	assert_int_equal(entries(stage, "."), 4);
	assert_true(holds(stage, own, "first"));
	assert_true(holds(stage, name_of("second"), "second"));
	assert_true(holds(stage, name_of("third"), "third"));
	assert_true(scratch_has(stage, name_of("")));
	assert_int_equal(inode_of(stage, name_of("third")), inode_of(dir.fd, "from/d/e/f"));

	/* Again: nothing is new. */
	stage_all(&sum);
	assert_int_equal(sum.files, 4);

	/* What not everybody may read gets a copy that everybody may. */
	scratch_write(from, "private", "private");
	umask(077);
	stage_all(&sum);
	umask(022);
	assert_int_equal(sum.files, 5);
	assert_int_equal(sum.copied, 1);
	assert_int_equal(fstatat(stage, name_of("private"), &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_true(st.st_ino != inode_of(from, "private"));
	assert_true(holds(stage, name_of("private"), "private"));
}

/* A name is not trusted: two contents must not end as one. */
static void test_wrong_name(void **state)
{
	struct stage_sum sum = {0};
	char name[STORE_NAME];

	(void)state;
	snprintf(name, sizeof(name), "%s", name_of("honest"));
	input(from, name, "liar's");
	input(from, "z", "honest");
	stage_all(&sum);
	assert_int_equal(sum.files, 2);
	assert_true(holds(stage, name, "honest"));
	assert_true(holds(stage, name_of("liar's"), "liar's"));
}

static void test_odd(void **state)
{
	struct stage_sum sum = {0};
	char secret[64], path[256] = "from";

	(void)state;
	scratch_write(dir.fd, "secret", "secret");
	snprintf(secret, sizeof(secret), "%s/secret", dir.path);
	odd_entries(from, "", secret, (off_t)WORKDIR_INPUT_MAX + 1);
	stage_all(&sum);
	assert_int_equal(sum.skipped, ODD_ENTRIES);
	assert_int_equal(sum.files, 0);
	assert_int_equal(entries(stage, "."), 0);

	for (unsigned depth = 0; depth < 12; depth++) {
		char file[300];

		snprintf(path + strlen(path), sizeof(path) - strlen(path), "/d");
		close(make_dir_at(dir.fd, path));
		snprintf(file, sizeof(file), "%s/f", path);
		input(dir.fd, file, path);
	}
	sum = (struct stage_sum){0};
	stage_all(&sum);
	assert_int_equal(sum.files, 8);
	assert_int_equal(sum.skipped, ODD_ENTRIES + 1);
}

static void test_no_dir(void **state)
{
	struct stage_sum sum = {0};
	struct err e;

	(void)state;
	assert_int_equal(shard_stage(dir.fd, "none", stage, &sum, &e), -ENOENT);
	assert_string_equal(e.msg, "open directory 'none': No such file or directory");
	/* A person's directory may be a link; one below it may not. */
	input(from, "a", "a");
	assert_int_equal(symlinkat("from", dir.fd, "alias"), 0);
	assert_int_equal(symlinkat("..", from, "up"), 0);
	assert_int_equal(shard_stage(dir.fd, "alias", stage, &sum, &e), 0);
	assert_int_equal(sum.files, 1);
	assert_int_equal(sum.skipped, 1);
}

/* 0 when inputs of another file system are copied, 77: no right to make one. */
static int copies(void)
{
	struct stage_sum sum = {0};
	char path[64];
	struct err e;

	snprintf(path, sizeof(path), "%s/from", dir.path);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 77;
	if (mount("none", path, "tmpfs", 0, "size=1m") < 0)
		return 77;
	input(AT_FDCWD, strcat(path, "/far"), "far away");
	if (shard_stage(AT_FDCWD, path, stage, &sum, &e) != -ENOTDIR)
		return 1;
	*strrchr(path, '/') = '\0';
	if (shard_stage(AT_FDCWD, path, stage, &sum, &e) < 0)
		return 2;
	return sum.files == 1 && sum.copied == 1 && sum.bytes == 8 ? 0 : 3;
}

static void test_other_file_system(void **state)
{
	pid_t pid = fork();
	int ws;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(copies());
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_true(WIFEXITED(ws));
	if (WEXITSTATUS(ws) == 77 && !getenv("FUZZCELL_MUST_RUN"))
		skip();
	assert_int_equal(WEXITSTATUS(ws), 0);
	assert_true(holds(stage, name_of("far away"), "far away"));
}

static void test_list(void **state)
{
	struct candidates c = {0};
	struct stage_sum sum = {0};
	struct err e;

	(void)state;
	input(from, "1", "1");
	input(from, "2", "2");
	input(from, "3", "");
	input(from, "4", "longer");
	stage_all(&sum);
	scratch_write(stage, ".rest.new", "rest");
	scratch_write(stage, "other", "other");
	close(make_dir_at(stage, "0123456789012345678901234567890123456789"));
	assert_int_equal(shard_list(stage, &c, &e), 0);
	assert_int_equal(c.n, 4);
	assert_string_equal(c.v[0].name, name_of(""));
	assert_string_equal(c.v[1].name, name_of("1")); /* 356a..., before da4b... */
	assert_string_equal(c.v[2].name, name_of("2"));
	assert_string_equal(c.v[3].name, name_of("longer"));
	assert_int_equal(c.v[3].size, 6);
	assert_ptr_equal(candidates_find(&c, name_of("2"), 1), &c.v[2]);
	assert_null(candidates_find(&c, name_of("2"), 2));
	assert_null(candidates_find(&c, name_of("3"), 1));
	assert_null(candidates_find(&c, "", 0));
	candidates_done(&c);
	assert_null(candidates_find(&c, name_of("2"), 1));
}

/* --- lists ------------------------------------------------------------------------------ */

static void test_names(void **state)
{
	static const char *const bad[] = {"",
					  "0",
					  "000000000000000000000000000000000000000",
					  "00000000000000000000000000000000000000000",
					  "A000000000000000000000000000000000000000",
					  "g000000000000000000000000000000000000000",
					  "../../../../../../../../../../etc/passwd"};
	struct candidates c = {0};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(candidates_name_ok(bad[i]));
		assert_int_equal(candidates_add(&c, bad[i], 1, &e), -EINVAL);
	}
	assert_int_equal(c.n, 0);
	assert_true(candidates_name_ok("0123456789abcdef0123456789abcdef01234567"));
}

static void test_save(void **state)
{
	struct candidates c = list_of(1000), got = {0};
	char text[64];
	struct err e;

	(void)state;
	c.v[999].size = UINT64_MAX;
	assert_int_equal(candidates_save(dir.fd, "list", &c, &e), 0);
	assert_int_equal(candidates_load(dir.fd, "list", &got, &e), 0);
	assert_int_equal(got.n, 1000);
	for (size_t i = 0; i < got.n; i++) {
		assert_int_equal(got.v[i].size, c.v[i].size);
		assert_string_equal(got.v[i].name, c.v[i].name);
	}
	candidates_done(&got);
	candidates_done(&c);
	assert_int_equal(candidates_save(dir.fd, "list", &c, &e), 0);
	assert_string_equal(scratch_text(dir.fd, "list", text, sizeof(text)), "");
	assert_int_equal(candidates_load(dir.fd, "list", &got, &e), 0);
	assert_int_equal(got.n, 0);
}

#define NAME "0123456789abcdef0123456789abcdef01234567"

static void test_damaged_list(void **state)
{
	static const char *const bad[] = {"\n",
					  NAME "\n",
					  NAME " \n",
					  NAME " x\n",
					  NAME " 1 \n",
					  NAME " -1\n",
					  NAME "  1\n",
					  NAME " 18446744073709551616\n",
					  "x" NAME " 1\n",
					  " 1\n",
					  "X\n"};
	char text[256];
	struct candidates c = {0};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "%s 7\n%s", NAME, bad[i]);
		scratch_write(dir.fd, "list", text);
		assert_int_equal(candidates_load(dir.fd, "list", &c, &e), -EBADMSG);
		assert_string_equal(e.msg, "list 'list', line 2");
	}
	scratch_write(dir.fd, "list", NAME " 7");
	assert_int_equal(candidates_load(dir.fd, "list", &c, &e), -EBADMSG);
	assert_string_equal(e.msg, "list 'list' is cut");
	assert_int_equal(candidates_load(dir.fd, "none", &c, &e), -ENOENT);
	assert_int_equal(c.n, 0);
}

static void test_too_many(void **state)
{
	struct candidates c = {0};
	struct err e;

	(void)state;
	for (unsigned i = 0; i < CANDIDATES_MAX; i++)
		if (candidates_add(&c, NAME, i, &e) < 0)
			fail_msg("%s", e.msg);
	assert_int_equal(candidates_add(&c, NAME, 0, &e), -E2BIG);
	assert_int_equal(c.n, CANDIDATES_MAX);
	candidates_done(&c);
}

/* --- shards ----------------------------------------------------------------------------- */

static void test_count(void **state)
{
	static const struct {
		size_t n;
		unsigned workers, want;
	} t[] = {{0, 4, 1},
		 {1, 4, 1},
		 {999, 4, 1},
		 {1000, 4, 2},
		 {2000, 4, 4},
		 {3000, 4, 4},
		 {3000, 0, 1},
		 {4096, 1, 1},
		 {4097, 1, 2},
		 {10000, 2, 4},
		 {10000, 3, 3},
		 {10000, 16, 16},
		 {200000, 2, 50},
		 {200000, 16, 64},
		 {1 << 20, 1, 256},
		 {1 << 20, 4096, SHARDS_MAX},
		 {SIZE_MAX / 2, 1, SHARDS_MAX}};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_int_equal(shard_count(t[i].n, t[i].workers), t[i].want);
}

static void check_split(const struct candidates *all, unsigned shards, uint64_t largest)
{
	struct candidates got[16] = {{0}};
	uint64_t least = UINT64_MAX, most = 0;
	size_t n = 0;
	struct err e;

	assert_int_equal(shard_split(all, shards, got, &e), 0);
	for (unsigned k = 0; k < shards; k++) {
		uint64_t cost = 0;

		for (size_t i = 0; i < got[k].n; i++) {
			assert_non_null(candidates_find(all, got[k].v[i].name, got[k].v[i].size));
			cost += got[k].v[i].size + 4096;
			if (i > 0)
				assert_true(got[k].v[i - 1].size <= got[k].v[i].size);
		}
		n += got[k].n;
		least = cost < least ? cost : least;
		most = cost > most ? cost : most;
		candidates_done(&got[k]);
	}
	assert_int_equal(n, all->n);
	assert_true(most - least <= largest + 4096);
}

static void test_split(void **state)
{
	struct candidates all = list_of(1000);
	struct candidates got[2] = {{0}};
	struct err e;

	(void)state;
	check_split(&all, 1, 1000);
	check_split(&all, 2, 1000);
	check_split(&all, 7, 1000);
	check_split(&all, 16, 1000);
	/* One that is as large as all others together. */
	all.v[999].size = 1000 * 4096 + 500500;
	assert_int_equal(shard_split(&all, 2, got, &e), 0);
	assert_in_range(got[0].n + (got[0].n == 1000 ? 0 : got[1].n), 1000, 1000);
	assert_in_range(got[0].n < got[1].n ? got[0].n : got[1].n, 1, 20);
	candidates_done(&got[0]);
	candidates_done(&got[1]);
	assert_int_equal(shard_split(&all, 0, got, &e), -EINVAL);
	assert_int_equal(shard_split(&all, SHARDS_MAX + 1, got, &e), -EINVAL);
	candidates_done(&all);
	check_split(&all, 3, 0);
}

/* --- bad units -------------------------------------------------------------------------- */

static int quarantine(const char *content, struct err *e)
{
	return shard_quarantine(stage, corpus, quarantined, "t", name_of(content), e);
}

static void test_quarantine(void **state)
{
	struct err e = {0};
	char path[64];

	(void)state;
	input(stage, name_of("bad"), "bad");
	input(stage, name_of("good"), "good");
	input(corpus, name_of("bad"), "bad");
	input(corpus, name_of("good"), "good");
	snprintf(path, sizeof(path), "t/%s", name_of("bad"));
	for (unsigned i = 0; i < 2; i++) { /* the second time it is there already */
		assert_int_equal(quarantine("bad", &e), 0);
		assert_true(holds(quarantined, path, "bad"));
		assert_false(scratch_has(stage, name_of("bad")));
		assert_false(scratch_has(corpus, name_of("bad")));
		assert_int_equal(entries(quarantined, "t"), 1);
	}
	assert_true(holds(stage, name_of("good"), "good"));
	assert_true(holds(corpus, name_of("good"), "good"));
	/* Nowhere: nothing is removed for it. */
	input(corpus, name_of("other"), "other");
	assert_int_equal(quarantine("other", &e), -ENOENT);
	assert_memory_equal(e.msg, "quarantine '", 12);
	assert_true(holds(corpus, name_of("other"), "other"));
}

static void test_quarantine_faults(void **state)
{
	unsigned at = 1;
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "t/%s", name_of("bad"));
	for (;; at++) {
		struct err e = {0};
		int r;

		assert_int_equal(fs_remove_tree(quarantined, "t", &e), 0);
		input(stage, name_of("bad"), "bad");
		input(corpus, name_of("bad"), "bad");
		fault_arm(at, FAULT_FAIL);
		r = quarantine("bad", &e);
		fault_arm(0, FAULT_FAIL);
		assert_true(holds(corpus, name_of("bad"), "bad") ||
			    holds(quarantined, path, "bad"));
		if (r == 0)
			break;
		assert_int_equal(r, -e.code);
		assert_memory_equal(e.msg, "quarantine '", 12);
	}
	assert_true(at > 6);
}

/* --- faults ----------------------------------------------------------------------------- */

static int all_of_it(struct err *e)
{
	_autocandidates_ struct candidates c = {0};
	_autocandidates_ struct candidates again = {0};
	struct candidates shards[2] = {{0}};
	struct stage_sum sum = {0};
	int r = shard_stage(dir.fd, "from", stage, &sum, e);

	if (r == 0)
		r = shard_list(stage, &c, e);
	if (r == 0)
		r = candidates_save(dir.fd, "list", &c, e);
	if (r == 0)
		r = candidates_load(dir.fd, "list", &again, e);
	if (r == 0)
		r = shard_split(&again, 2, shards, e);
	/* Everything, or an error. */
	assert_true(r < 0 || shards[0].n + shards[1].n == 4);
	candidates_done(&shards[0]);
	candidates_done(&shards[1]);
	return r;
}

static void test_faults(void **state)
{
	unsigned at = 1;

	(void)state;
	input(from, "a", "a");
	input(from, "b", "bb");
	scratch_write(from, "private", "private");
	close(make_dir_at(dir.fd, "from/d"));
	input(dir.fd, "from/d/c", "c");
	for (;; at++) {
		struct err e = {0};
		int r;

		assert_int_equal(fs_remove_tree(dir.fd, "stage", &e), 0);
		close(stage);
		stage = make_dir_at(dir.fd, "stage");
		fault_arm(at, FAULT_FAIL);
		r = all_of_it(&e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0)
			break;
		assert_int_equal(r, -e.code);
		assert_true(*e.msg);
	}
	assert_true(at > 40);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_stage),
    CASE(test_wrong_name),
    CASE(test_odd),
    CASE(test_no_dir),
    CASE(test_other_file_system),
    CASE(test_list),
    CASE(test_names),
    CASE(test_save),
    CASE(test_damaged_list),
    CASE(test_too_many),
    CASE(test_count),
    CASE(test_split),
    CASE(test_quarantine),
    CASE(test_quarantine_faults),
    CASE(test_faults),
};

UNIT_MAIN(tests)
