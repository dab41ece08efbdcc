/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/corpus/workdir.h"
#include "tests/unit/corpus/merge.h"
#include "tests/unit/forked.h"

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
	input(from, "a user's seed\n", "second");
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

	/* A second call adds no file. */
	stage_all(&sum);
	assert_int_equal(sum.files, 4);

	/* A file that is not world-readable gets a world-readable copy. */
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

/* A name is not trusted: two contents must not become one. */
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
	/* The user's directory may be a link; a directory below it may not. */
	input(from, "a", "a");
	assert_int_equal(symlinkat("from", dir.fd, "alias"), 0);
	assert_int_equal(symlinkat("..", from, "up"), 0);
	assert_int_equal(shard_stage(dir.fd, "alias", stage, &sum, &e), 0);
	assert_int_equal(sum.files, 1);
	assert_int_equal(sum.skipped, 1);
}

/* 0 when inputs of another file system are copied; 77: no right to mount a file system. */
static int copies(void)
{
	struct stage_sum sum = {0};
	char path[64];
	struct err e;

	snprintf(path, sizeof(path), "%s/from", dir.path);
	if (!mounts_are_ours() || mount("none", path, "tmpfs", 0, "size=1m") < 0)
		return FORKED_SKIP;
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
	(void)state;
	forked(copies);
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
	for (unsigned i = 0; i < 2; i++) { /* the second time the file exists */
		assert_int_equal(quarantine("bad", &e), 0);
		assert_true(holds(quarantined, path, "bad"));
		assert_false(scratch_has(stage, name_of("bad")));
		assert_false(scratch_has(corpus, name_of("bad")));
		assert_int_equal(entries(quarantined, "t"), 1);
	}
	assert_true(holds(stage, name_of("good"), "good"));
	assert_true(holds(corpus, name_of("good"), "good"));
	/* The input is nowhere: no file is removed for it. */
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
	assert_int_equal(at - 1, 9); /* only this number reveals a missing sync */
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
	/* All inputs, or an error. */
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
    CASE(test_stage),	   CASE(test_wrong_name),	 CASE(test_odd),
    CASE(test_no_dir),	   CASE(test_other_file_system), CASE(test_list),
    CASE(test_quarantine), CASE(test_quarantine_faults), CASE(test_faults),
};

UNIT_MAIN(tests)
