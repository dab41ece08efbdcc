/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fault.h"
#include "runner/corpus/workdir.h"
#include "tests/unit/corpus/intree.h"

#include <sys/wait.h>

static struct scratch dir;
static int corpus, tree, pruned;
static char tree_path[64];

static int each_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	corpus = make_dir_at(dir.fd, "corpus");
	tree = make_dir_at(dir.fd, "tree");
	pruned = make_dir_at(dir.fd, "pruned");
	snprintf(tree_path, sizeof(tree_path), "%s/tree", dir.path);
	umask(022);
	return 0;
}

static int each_teardown(void **state)
{
	(void)state;
	close(corpus);
	close(tree);
	close(pruned);
	candidates_done(&unneeded);
	scratch_remove(&dir);
	return 0;
}

static int try_update(bool prune, bool dry_run, struct intree_sum *ret, struct err *e)
{
	struct intree t = {.corpus = corpus,
			   .prune = prune,
			   .unneeded = &unneeded,
			   .dry_run = dry_run,
			   .pruned = pruned,
			   .report = on_name};

	*reported = '\0';
	return intree_update(&t, tree_path, ret, e);
}

static struct intree_sum update(bool prune, bool dry_run)
{
	struct intree_sum sum;
	struct err e;

	if (try_update(prune, dry_run, &sum, &e) < 0)
		fail_msg("%s", e.msg);
	return sum;
}

static void input(const char *content)
{
	scratch_write(corpus, name_of(content), content);
}

static void test_add(void **state)
{
	struct intree_sum sum;
	struct stat st;

	(void)state;
	input("new");
	input("known");
	input("known below");
	input("");
	scratch_write(corpus, "a user's", "of no use here");
	scratch_write(corpus, name_of("damaged"), "dxmaged");
	scratch_write(tree, "readable name.png", "known");
	close(make_dir_at(tree, "d/e"));
	scratch_write(tree, "d/e/x", "known below");
	scratch_write(tree, ".hidden", "new"); /* no seed: it is ignored */
	umask(077);
	sum = update(false, true);
	assert_int_equal(sum.added, 1);
	assert_int_equal(entries(tree, "."), 3);
	for (unsigned k = 0; k < 2; k++) {
		sum = update(false, false);
		assert_int_equal(sum.added, k ? 0 : 1);
		assert_int_equal(sum.bytes, k ? 0 : 3);
		assert_int_equal(sum.known, k ? 3 : 2);
		assert_int_equal(sum.skipped, 2);
		assert_int_equal(sum.removed, 0);
		assert_int_equal(entries(tree, "."), 4);
	}
	umask(022);
	assert_string_equal(reported, "");
	assert_true(holds(tree, name_of("new"), "new"));
	assert_int_equal(fstatat(tree, name_of("new"), &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(entries(pruned, "."), 0);
}

/* root does not leave files that the user cannot change. */
static void test_owner(void **state)
{
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	input("new");
	assert_int_equal(chmod(dir.path, 0755), 0); /* the user's files are written there */
	assert_int_equal(fchown(tree, 65534, 65533), 0);
	(void)update(false, false);
	assert_int_equal(fstatat(tree, name_of("new"), &st, 0), 0);
	assert_int_equal(st.st_uid, 65534);
	assert_int_equal(st.st_gid, 65533);
}

/* Through a link from a push no file is made or removed with root's rights. */
static void test_link_of_theirs(void **state)
{
	int secret = make_dir_at(dir.fd, "secret");
	struct intree t = {.corpus = corpus, .pruned = pruned};
	struct intree_sum sum;
	char path[100];
	struct err e;

	(void)state;
	if (geteuid() != 0)
		skip();
	input("new");
	assert_int_equal(chmod(dir.path, 0755), 0);
	assert_int_equal(fchmod(secret, 0755), 0);
	assert_int_equal(symlinkat("secret", dir.fd, "link"), 0);
	assert_int_equal(fchownat(dir.fd, "link", 65534, 65534, AT_SYMLINK_NOFOLLOW), 0);
	snprintf(path, sizeof(path), "%s/link", dir.path);
	assert_int_equal(intree_update(&t, path, &sum, &e), -EACCES);
	assert_false(scratch_has(secret, name_of("new")));
	/* In a directory that every user may write to, the file is not root's. */
	assert_int_equal(fchmod(secret, 01777), 0);
	assert_int_equal(intree_update(&t, path, &sum, &e), 0);
	{
		struct stat st;

		assert_int_equal(fstatat(secret, name_of("new"), &st, 0), 0);
		assert_int_equal(st.st_uid, 65534);
	}
	close(secret);
}

/* A file that a user put there stays unchanged, whatever its name is. */
static void test_taken(void **state)
{
	struct intree_sum sum;
	char want[80];

	(void)state;
	input("one");
	input("two");
	scratch_write(tree, name_of("one"), "a user's");
	close(make_dir_at(tree, name_of("two")));
	sum = update(false, false);
	assert_int_equal(sum.added, 0);
	assert_int_equal(sum.skipped, 2);
	snprintf(want, sizeof(want), "taken %s\n", name_of("one"));
	assert_non_null(strstr(reported, want));
	assert_true(holds(tree, name_of("one"), "a user's"));
	assert_int_equal(entries(tree, "."), 2);
	/* Pruning removes such a file, but not before a merge has measured it. */
	sum = update(true, false);
	assert_int_equal(sum.added, 0);
	unneed("a user's");
	sum = update(true, false);
	assert_int_equal(sum.added, 1);
	assert_int_equal(sum.removed, 1);
	assert_true(holds(tree, name_of("one"), "one"));
	assert_true(holds(pruned, name_of("a user's"), "a user's"));
}

static void test_odd(void **state)
{
	char secret[64];
	struct intree_sum sum;
	struct err e;

	(void)state;
	scratch_write(dir.fd, "secret", "secret");
	snprintf(secret, sizeof(secret), "%s/secret", dir.path);
	odd_entries(tree, "", secret, (off_t)WORKDIR_INPUT_MAX + 1);
	assert_int_equal(symlinkat("..", tree, "up"), 0);
	input("new");
	sum = update(true, false);
	assert_int_equal(sum.added, 1);
	assert_int_equal(sum.removed, 0);
	assert_int_equal(entries(tree, "."), ODD_ENTRIES + 2);
	assert_true(holds(dir.fd, "secret", "secret"));
	/* The temporary file of a killed call is removed; a link in its place is not followed. */
	(void)unlinkat(tree, name_of("new"), 0);
	{
		char tmp[64];

		snprintf(tmp, sizeof(tmp), ".%s.new", name_of("new"));
		assert_int_equal(symlinkat(secret, tree, tmp), 0);
		sum = update(false, false);
		assert_int_equal(sum.added, 1);
		assert_false(scratch_has(tree, tmp));
	}
	assert_true(holds(dir.fd, "secret", "secret"));
	snprintf(tree_path, sizeof(tree_path), "%s/none", dir.path);
	assert_int_equal(try_update(false, false, &sum, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "/none'"));
}

static void test_prune(void **state)
{
	struct intree_sum sum;

	(void)state;
	scratch_write(tree, "old", "old");
	close(make_dir_at(tree, "d"));
	scratch_write(tree, "d/older", "older");
	scratch_write(tree, "kept", "kept");
	scratch_write(tree, ".gitignore", "x");
	unneed("old");
	unneed("older");
	/* A lost corpus is no reason to remove all files. */
	sum = update(true, false);
	assert_int_equal(sum.removed, 0);
	assert_int_equal(sum.kept, 0);
	assert_int_equal(entries(tree, "."), 4);
	input("kept");
	sum = update(true, true);
	assert_int_equal(sum.removed, 2);
	assert_int_equal(entries(tree, "."), 4);
	assert_int_equal(entries(pruned, "."), 0);
	sum = update(true, false);
	assert_int_equal(sum.removed, 2);
	assert_int_equal(sum.known, 1);
	assert_non_null(strstr(reported, "removed old\n"));
	assert_non_null(strstr(reported, "removed d/older\n"));
	assert_int_equal(entries(tree, "."), 3);
	assert_int_equal(entries(tree, "d"), 0);
	assert_true(holds(tree, ".gitignore", "x"));
	assert_true(holds(pruned, name_of("old"), "old"));
	assert_true(holds(pruned, name_of("older"), "older"));
}

/* Pruning removes only inputs that a merge measured and did not need.  A user may have added any
 * other file this minute. */
static void test_prune_measured_only(void **state)
{
	struct intree_sum sum;

	(void)state;
	input("in");
	input("again"); /* imported after the merge that did not need it */
	unneed("old");
	unneed("again");
	unneed("other size");
	scratch_write(tree, "a", "in");
	scratch_write(tree, "b", "old");
	scratch_write(tree, "c", "again");
	scratch_write(tree, "new seed", "never measured");
	close(make_dir_at(tree, "d"));
	scratch_write(tree, "d/new", "neither");
	sum = update(true, true);
	assert_int_equal(sum.removed, 1);
	assert_int_equal(sum.kept, 2);
	sum = update(true, false);
	assert_int_equal(sum.removed, 1);
	assert_int_equal(sum.kept, 2);
	assert_int_equal(sum.known, 2);
	assert_non_null(strstr(reported, "removed b\n"));
	assert_non_null(strstr(reported, "kept new seed\n"));
	assert_non_null(strstr(reported, "kept d/new\n"));
	assert_true(holds(tree, "new seed", "never measured"));
	assert_true(holds(tree, "d/new", "neither"));
	assert_true(holds(tree, "c", "again"));
	assert_int_equal(entries(pruned, "."), 1);
	sum = update(false, false); /* without --prune */
	assert_int_equal(sum.kept, 0);
	assert_string_equal(reported, "");
}

static void fill(void)
{
	struct err e;

	assert_int_equal(fs_remove_tree(dir.fd, "tree/d", &e), 0);
	assert_int_equal(fs_remove_tree(dir.fd, "pruned", &e), 0);
	close(pruned);
	pruned = make_dir_at(dir.fd, "pruned");
	(void)unlinkat(tree, name_of("new"), 0);
	(void)unlinkat(tree, name_of("newer"), 0);
	input("new");
	input("newer");
	input("kept");
	close(make_dir_at(tree, "d"));
	scratch_write(tree, "d/kept", "kept");
	scratch_write(tree, "old", "old");
	scratch_write(tree, "d/older", "older");
	unneed("old");
	unneed("older");
}

static void check_nothing_lost(void)
{
	assert_true(holds(tree, "d/kept", "kept"));
	assert_true(holds(tree, "old", "old") || holds(pruned, name_of("old"), "old"));
	assert_true(holds(tree, "d/older", "older") || holds(pruned, name_of("older"), "older"));
	assert_true(holds(tree, name_of("new"), "new") || !scratch_has(tree, name_of("new")));
	assert_true(holds(corpus, name_of("new"), "new"));
}

static void check_done(void)
{
	assert_int_equal(entries(tree, "."), 3); /* d, and two inputs */
	assert_int_equal(entries(tree, "d"), 1);
	assert_int_equal(entries(pruned, "."), 2);
	assert_true(holds(tree, name_of("new"), "new"));
	assert_true(holds(tree, name_of("newer"), "newer"));
}

/* A full disk at any call is reported, no file is lost, and a second call completes the update. */
static void test_fails(void **state)
{
	unsigned failed = 0;

	(void)state;
	for (unsigned nth = 1;; nth++) {
		struct intree_sum sum;
		struct err e = {0};
		int r;

		fill();
		fault_arm(nth, FAULT_FAIL);
		r = try_update(true, false, &sum, &e);
		fault_arm(0, FAULT_FAIL);
		check_nothing_lost();
		if (r == 0)
			break;
		failed++;
		assert_true(*e.msg);
		(void)update(true, false);
		check_nothing_lost();
		check_done();
	}
	check_done();
	assert_true(failed > 40);
}

static void test_killed(void **state)
{
	unsigned nth;

	(void)state;
	for (nth = 1;; nth++) {
		struct intree_sum sum;
		struct err e;
		pid_t pid;
		int ws;

		fill();
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			fault_arm(nth, FAULT_DIE);
			_exit(try_update(true, false, &sum, &e) < 0);
		}
		assert_int_equal(waitpid(pid, &ws, 0), pid);
		assert_true(WIFEXITED(ws));
		check_nothing_lost();
		if (WEXITSTATUS(ws) == 0)
			break;
		assert_int_equal(WEXITSTATUS(ws), 86);
		(void)update(true, false);
		check_nothing_lost();
		assert_int_equal(entries(tree, "."), 3); /* no temporary file */
		assert_true(holds(tree, name_of("new"), "new"));
		assert_true(holds(tree, name_of("newer"), "newer"));
	}
	assert_true(nth > 40);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_add),    CASE(test_owner), CASE(test_link_of_theirs),	 CASE(test_taken),
    CASE(test_odd),    CASE(test_prune), CASE(test_prune_measured_only), CASE(test_fails),
    CASE(test_killed),
};

UNIT_MAIN(tests)
