/* SPDX-License-Identifier: Apache-2.0 */
/* A change of many files that is killed, or fails, at each of its calls. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/sys.h"
#include "runner/state/change.h"
#include "tests/unit/scratch_dir.h"

#include <sys/wait.h>

static const char *const files[] = {"index", "corpus/a/1", "corpus/a/2", "crashes/x/by/t/input"};
enum { FILES = sizeof(files) / sizeof(files[0]) };

static void put(int at, const char *path, const char *text)
{
	char parent[64];
	struct err e;

	snprintf(parent, sizeof(parent), "%s", path);
	if (strrchr(parent, '/')) {
		*strrchr(parent, '/') = '\0';
		assert_int_equal(fs_mkdirs(at, parent, 0750, &e), 0);
	}
	scratch_write(at, path, text);
}

/* These are removed: a directory's last file, a file that the change brings, a missing file. */
static const char *const gone[] = {"queue/a/last", "queue/b/one", "queue/c/none"};
enum { GONE = sizeof(gone) / sizeof(gone[0]) };

/* The state before: a file that changes, and files that stay. */
static void fresh(void)
{
	struct err e;

	for (size_t i = 0; i < FILES; i++)
		(void)unlinkat(dir.fd, files[i], 0);
	assert_int_equal(fs_remove_tree(dir.fd, "change", &e), 0);
	put(dir.fd, "index", "old");
	put(dir.fd, "corpus/a/0", "stays");
	put(dir.fd, gone[0], "old");
	put(dir.fd, "queue/b/two", "stays");
}

static int put_all(int to, struct err *e)
{
	_autostrv_ struct strv paths = {0};

	for (size_t i = 0; i < FILES; i++)
		put(to, files[i], "new");
	put(to, gone[1], "new");
	for (size_t i = 0; i < GONE; i++)
		strv_push(&paths, gone[i]);
	return change_remove(dir.fd, &paths, e);
}

static int change_all(struct err *e)
{
	int to, r = change_begin(dir.fd, &to, e);

	if (r < 0)
		return r;
	r = put_all(to, e);
	close(to);
	return r < 0 ? r : change_commit(dir.fd, e);
}

static bool has(const char *path)
{
	return faccessat(dir.fd, path, F_OK, 0) == 0;
}

/* 1: all files are new; 0: none is; -1: some are. */
static int which(void)
{
	size_t n = 0;
	char text[16];

	for (size_t i = 0; i < FILES; i++)
		n += strcmp(scratch_text(dir.fd, files[i], text, sizeof(text)), "new") == 0;
	assert_string_equal(scratch_text(dir.fd, "corpus/a/0", text, sizeof(text)), "stays");
	assert_string_equal(scratch_text(dir.fd, "queue/b/two", text, sizeof(text)), "stays");
	if (n == 0)
		assert_string_equal(scratch_text(dir.fd, "index", text, sizeof(text)), "old");
	if (has("queue/b/one") || has("queue/a/last") != has("queue/a") ||
	    has("queue/a") != (n == 0))
		return -1;
	return n == 0 ? 0 : n == FILES ? 1 : -1;
}

static bool left_over(void)
{
	return has("change");
}

static void it_happens(void **state)
{
	struct err e;

	(void)state;
	fresh();
	assert_int_equal(change_all(&e), 0);
	assert_int_equal(which(), 1);
	assert_false(left_over());
	assert_int_equal(change_recover(dir.fd, &e), 0);
	assert_int_equal(which(), 1);
}

/* Returns whether the process died. */
static bool dies(unsigned at, int (*what)(struct err *))
{
	pid_t pid = fork();
	struct err e;
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		fault_arm(at, FAULT_DIE);
		_exit(what(&e) == 0 ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static int recover(struct err *e)
{
	return change_recover(dir.fd, e);
}

/* The recovery is killed at each of its calls, too. */
static void killed_at_each_call(void **state)
{
	unsigned before = 0, after = 0;
	struct err e;

	(void)state;
	for (unsigned at = 1;; at++) {
		int got;

		fresh();
		if (!dies(at, change_all))
			break;
		for (unsigned k = 1; dies(k, recover); k++)
			;
		assert_int_equal(change_recover(dir.fd, &e), 0);
		got = which();
		assert_int_not_equal(got, -1);
		assert_false(left_over());
		before += got == 0;
		after += got == 1;
	}
	print_message("# killed: %u times as before, %u times as after\n", before, after);
	assert_true(before > 5 && after > 5);
}

static void a_full_disk(void **state)
{
	struct err e;

	(void)state;
	for (unsigned at = 1;; at++) {
		int r, to;

		fresh();
		r = change_begin(dir.fd, &to, &e);
		assert_int_equal(r, 0);
		assert_int_equal(put_all(to, &e), 0);
		close(to);
		fault_arm(at, FAULT_FAIL);
		r = change_commit(dir.fd, &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0)
			break;
		assert_int_equal(change_recover(dir.fd, &e), 0);
		assert_int_not_equal(which(), -1);
		assert_false(left_over());
	}
	assert_int_equal(which(), 1);
}

static void make_in_the_way(const char *path, int what)
{
	if (what == 0)
		assert_int_equal(mkdirat(dir.fd, path, 0700), 0);
	else if (what == 1)
		scratch_write(dir.fd, path, "no directory");
	else
		assert_int_equal(symlinkat(path, dir.fd, path), 0);
}

/* Then no command could complete the change: it does not begin. */
static void what_is_in_the_way(void **state)
{
	static const struct {
		const char *path;
		int what, code;
	} cases[] = {
	    {"corpus/a/2", 0, -EISDIR}, {"crashes", 1, -ENOTDIR}, {"crashes", 2, -ENOTDIR}};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fresh();
		assert_int_equal(fs_remove_tree(dir.fd, "crashes", &e), 0);
		make_in_the_way(cases[i].path, cases[i].what);
		assert_int_equal(change_all(&e), cases[i].code);
		assert_non_null(strstr(e.msg, "its place is taken, move it away"));
		assert_int_equal(change_recover(dir.fd, &e), 0);
		assert_false(left_over());
		assert_int_equal(which(), 0);
		assert_int_equal(fs_remove_tree(dir.fd, cases[i].path, &e), 0);
	}
	/* What is to be removed, and is no file, stays. */
	fresh();
	(void)unlinkat(dir.fd, gone[0], 0);
	assert_int_equal(mkdirat(dir.fd, gone[0], 0700), 0);
	assert_int_equal(change_all(&e), 0);
	assert_true(has(gone[0]));
	assert_false(left_over());
	assert_int_equal(fs_remove_tree(dir.fd, gone[0], &e), 0);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)
static const struct CMUnitTest tests[] = {
    WITH(it_happens),
    WITH(killed_at_each_call),
    WITH(a_full_disk),
    WITH(what_is_in_the_way),
};

UNIT_MAIN(tests)
