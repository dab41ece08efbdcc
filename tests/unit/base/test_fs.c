/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "tests/unit/each.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* A call that must leave either the old or the new state, whichever system call fails. */
struct op {
	const char *name;
	int (*run)(int dirfd, struct err *e);
	const char *old, *new;
	unsigned calls; /* that can fail: this count reveals a missing fsync */
};

static int op_replace(int dirfd, struct err *e)
{
	return fs_replace(dirfd, "state", SLICE("new"), e);
}

static int op_append(int dirfd, struct err *e)
{
	return fs_append_line(dirfd, "state", SLICE("two"), e);
}

static int op_batch(int dirfd, struct err *e)
{
	struct fs_batch b = {0};
	int r = fs_batch_replace(&b, dirfd, "state", SLICE("new"), e), end;
	struct err ended;

	end = fs_batch_end(&b, &ended);
	if (r == 0 && end < 0)
		*e = ended;
	return r < 0 ? r : end;
}

static int op_batch_append(int dirfd, struct err *e)
{
	struct fs_batch b = {0};
	int r = fs_batch_append(&b, dirfd, "state", SLICE("two"), e), end;
	struct err ended;

	end = fs_batch_end(&b, &ended);
	if (r == 0 && end < 0)
		*e = ended;
	return r < 0 ? r : end;
}

static int op_copy(int dirfd, struct err *e)
{
	return fs_copy(dirfd, "from", dirfd, "state", 100, e);
}

static const struct op ops[] = {
    /* openat, write, fsync, rename, fsync of the directory */
    {"replace", op_replace, "old", "new", 5},
    /* openat, pread, write, fsync */
    {"append", op_append, "one\n", "one\ntwo\n", 4},
    {"append to a cut line", op_append, "one", "one\ntwo\n", 4},
    /* openat, write, fsync, fsync of the directory */
    {"append to nothing", op_append, "", "two\n", 4},
    /* openat, write, openat twice, fsync, rename, fsync of the directory */
    {"replace in a batch", op_batch, "old", "new", 7},
    /* openat, pread, write, openat twice, fsync, fsync of the directory */
    {"append in a batch", op_batch_append, "one\n", "one\ntwo\n", 7},
    /* openat twice, read, write, read, fsync, rename, fsync of the directory */
    {"copy", op_copy, "old", "copied", 8},
};

/* The op's status when its call number `at` fails or kills the process (86). */
static int run_faulty(const struct op *op, int dirfd, unsigned at, enum fault_how how)
{
	struct err e = {.code = 0};
	int ws, r;
	pid_t pid;

	if (how == FAULT_FAIL) { /* in this process, so that LeakSanitizer checks it */
		fault_arm(at, how);
		r = op->run(dirfd, &e);
		fault_arm(0, how);
		assert_int_equal(r, -e.code);
		if (r < 0)
			assert_non_null(strstr(e.msg, strerrordesc_np(e.code)));
		return r < 0 ? 1 : 0;
	}
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		fault_arm(at, how);
		_exit(op->run(dirfd, &e) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_true(WIFEXITED(ws));
	return WEXITSTATUS(ws);
}

static void torture(const struct op *op, int dirfd, enum fault_how how)
{
	for (unsigned at = 1;; at++) {
		char got[32];
		int rc;

		if (op->old[0])
			scratch_write(dirfd, "state", op->old);
		else
			unlinkat(dirfd, "state", 0);
		scratch_write(dirfd, "from", "copied");
		rc = run_faulty(op, dirfd, at, how);
		scratch_text(dirfd, "state", got, sizeof(got));
		if (rc == 0) {
			assert_string_equal(got, op->new);
			assert_int_equal(at, op->calls + 1);
			return;
		}
		print_message("# %s: %s at call %u leaves '%s'\n", op->name,
			      how == FAULT_DIE ? "death" : "failure", at, got);
		assert_int_equal(rc, how == FAULT_DIE ? 86 : 1);
		assert_true(strcmp(got, op->old) == 0 || strcmp(got, op->new) == 0);
		assert_true(how == FAULT_DIE || !scratch_has(dirfd, ".state.new"));
	}
}

static void test_torture(void **state)
{
	const struct scratch *s = *state;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		torture(&ops[i], s->fd, FAULT_FAIL);
		torture(&ops[i], s->fd, FAULT_DIE);
	}
}

static void test_replace(void **state)
{
	const struct scratch *s = *state;
	char name[NAME_MAX + 2], got[32];
	struct err e;
	struct stat st;

	assert_int_equal(fs_replace(s->fd, "a", SLICE(""), &e), 0);
	assert_int_equal(fstatat(s->fd, "a", &st, 0), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(st.st_mode & 07, 0); /* no access for others */
	/* The temporary file of a dead process is replaced, and a link in its place is not
	 * followed. */
	scratch_write(s->fd, ".a.new", "longer than the new text");
	assert_int_equal(fs_replace(s->fd, "a", SLICE("text"), &e), 0);
	assert_string_equal(scratch_text(s->fd, "a", got, sizeof(got)), "text");
	scratch_write(s->fd, "victim", "safe");
	assert_int_equal(symlinkat("victim", s->fd, ".a.new"), 0);
	assert_int_equal(fs_replace(s->fd, "a", SLICE("x"), &e), -ELOOP);
	assert_string_equal(scratch_text(s->fd, "victim", got, sizeof(got)), "safe");
	assert_int_equal(unlinkat(s->fd, ".a.new", 0), 0);
	assert_int_equal(mkfifoat(s->fd, ".a.new", 0600), 0);
	assert_int_equal(fs_replace(s->fd, "a", SLICE("x"), &e), -EINVAL);
	assert_string_equal(scratch_text(s->fd, "a", got, sizeof(got)), "text");

	assert_int_equal(fs_replace(s->fd, "b/a", SLICE("x"), &e), -EINVAL);
	memset(name, 'n', sizeof(name));
	name[NAME_MAX] = '\0';
	assert_int_equal(fs_replace(s->fd, name, SLICE("x"), &e), -ENAMETOOLONG);
	name[NAME_MAX - strlen("..new")] = '\0';
	assert_int_equal(fs_replace(s->fd, name, SLICE("x"), &e), 0);
	assert_int_equal(fs_replace(-1, "a", SLICE("x"), &e), -EBADF);
	assert_string_equal(e.msg, "create '.a.new': Bad file descriptor");
}

static void test_append(void **state)
{
	const struct scratch *s = *state;
	char got[64];
	struct err e;

	assert_int_equal(fs_append_line(s->fd, "h", SLICE("1"), &e), 0);
	assert_int_equal(fs_append_line(s->fd, "h", (struct slice){NULL, 0}, &e), 0);
	assert_int_equal(fs_append_line(s->fd, "h", SLICE("3"), &e), 0);
	assert_string_equal(scratch_text(s->fd, "h", got, sizeof(got)), "1\n\n3\n");
	assert_int_equal(symlinkat("h", s->fd, "link"), 0);
	assert_int_equal(fs_append_line(s->fd, "link", SLICE("x"), &e), -ELOOP);
	assert_int_equal(mkfifoat(s->fd, "fifo", 0600), 0);
	assert_int_equal(fs_append_line(s->fd, "fifo", SLICE("x"), &e), -EINVAL);
}

static void test_read(void **state)
{
	const struct scratch *s = *state;
	_autofree_ char *text = NULL;
	struct err e;
	size_t n = 99;

	scratch_write(s->fd, "a", "12345");
	assert_int_equal(fs_read(s->fd, "a", 4, &text, &n, &e), -EFBIG);
	assert_null(text);
	assert_int_equal(n, 99);
	assert_int_equal(fs_read(s->fd, "a", 5, &text, &n, &e), 0);
	assert_int_equal(n, 5);
	assert_string_equal(text, "12345");
	free(take_ptr(&text));
	scratch_write(s->fd, "empty", "");
	assert_int_equal(fs_read(s->fd, "empty", 0, &text, &n, &e), 0);
	assert_int_equal(n, 0);
	assert_string_equal(text, "");
}

/* Files in /proc have size 0: only reading shows their length. */
static void test_read_kernel(void **state)
{
	_autofree_ char *text = NULL;
	struct err e;
	size_t n;

	(void)state;
	assert_int_equal(fs_read(AT_FDCWD, "/proc/self/status", 65536, &text, &n, &e), 0);
	assert_int_equal(strlen(text), n);
	assert_memory_equal(text, "Name:", 5);
	free(take_ptr(&text));
	assert_int_equal(fs_read(AT_FDCWD, "/proc/self/status", 10, &text, &n, &e), -EFBIG);
	assert_string_equal(e.msg, "read '/proc/self/status': more than 10 bytes");
}

/* A path that is not a regular file fails at once, with any flags. */
static void test_open_file(void **state)
{
	static const int flags[] = {O_RDONLY, O_RDWR, O_WRONLY | O_CREAT | O_TRUNC,
				    O_WRONLY | O_CREAT | O_APPEND};
	const struct {
		const char *name, *is;
	} odd[] = {{"fifo", "a FIFO"},
		   {"socket", "a socket"},
		   {"dir", "a directory"},
		   {"/dev/null", "a device"}};
	const struct scratch *s = *state;
	struct err e;
	int fd = -1;

	assert_int_equal(mkfifoat(s->fd, "fifo", 0600), 0);
	assert_int_equal(mknodat(s->fd, "socket", S_IFSOCK | 0600, 0), 0);
	assert_int_equal(mkdirat(s->fd, "dir", 0700), 0);
	assert_int_equal(symlinkat("fifo", s->fd, "link"), 0);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]); k++) {
			assert_int_equal(fs_open_file(s->fd, odd[i].name, flags[k], 0600, &fd, &e),
					 -EINVAL);
			assert_non_null(strstr(e.msg, odd[i].is));
			assert_non_null(strstr(e.msg, "move it away"));
		}
	assert_int_equal(fs_open_file(s->fd, "link", O_RDONLY, 0, &fd, &e), -ELOOP);
	assert_int_equal(fs_open_file(s->fd, "none", O_RDONLY, 0, &fd, &e), -ENOENT);
	assert_string_equal(e.msg, "open 'none': No such file or directory");
	assert_int_equal(fd, -1);
	assert_int_equal(fs_open_file(s->fd, "new", O_WRONLY | O_CREAT | O_EXCL, 0600, &fd, &e), 0);
	close(fd);
}

static void test_read_odd(void **state)
{
	const struct scratch *s = *state;
	char why[PATH_MAX];
	_autofree_ char *text = NULL;
	_autofree_ char *path = NULL;
	struct err e;
	size_t n;

	scratch_write(s->fd, "a", "x");
	assert_int_equal(symlinkat("a", s->fd, "link"), 0);
	assert_int_equal(mkfifoat(s->fd, "fifo", 0600), 0);
	assert_int_equal(fs_read(s->fd, "link", 9, &text, &n, &e), -ELOOP);
	assert_int_equal(fs_read(s->fd, "fifo", 9, &text, &n, &e), -EINVAL); /* without waiting */
	(void)snprintf(why, sizeof(why),
		       "'fifo' is not a regular file but a FIFO: move it away from '%s'", s->path);
	assert_string_equal(e.msg, why);
	assert_int_equal(fs_read(s->fd, ".", 9, &text, &n, &e), -EINVAL);
	assert_int_equal(fs_read(s->fd, "none", 9, &text, &n, &e), -ENOENT);
	assert_int_equal(fs_copy(s->fd, "link", s->fd, "to", 9, &e), -ELOOP);
	assert_int_equal(fs_copy(s->fd, "fifo", s->fd, "to", 9, &e), -EINVAL);
	/* A path from the user (AT_FDCWD) may be a link. */
	assert_true(asprintf(&path, "%s/link", s->path) > 0);
	assert_int_equal(fs_read(AT_FDCWD, path, 9, &text, &n, &e), 0);
	assert_string_equal(text, "x");
}

static void test_copy(void **state)
{
	const struct scratch *s = *state;
	static char big[200000], got[sizeof(big)];
	struct err e;
	_autoclose_ int fd = -1;

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)('a' + i % 23);
	big[sizeof(big) - 1] = '\0';
	scratch_write(s->fd, "from", big);
	assert_int_equal(fs_copy(s->fd, "from", s->fd, "to", sizeof(big) - 2, &e), -EFBIG);
	assert_false(scratch_has(s->fd, "to"));
	assert_int_equal(fs_copy(s->fd, "from", s->fd, "to", sizeof(big) - 1, &e), 0);
	assert_string_equal(scratch_text(s->fd, "to", got, sizeof(got)), big);
	assert_int_equal(fs_copy(s->fd, "from", s->fd, "x/to", sizeof(big), &e), -EINVAL);
	/* A file that grows beyond its size is refused, too, and leaves no copy. */
	fd = openat(AT_FDCWD, "/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fs_copy(fd, "status", s->fd, "status", 10, &e), -EFBIG);
	assert_false(scratch_has(s->fd, "status"));
	assert_false(scratch_has(s->fd, ".status.new"));
	assert_int_equal(fs_copy(fd, "status", s->fd, "status", 65536, &e), 0);
	assert_memory_equal(scratch_text(s->fd, "status", got, sizeof(got)), "Name:", 5);
}

static void test_mkdirs(void **state)
{
	const struct scratch *s = *state;
	_autoclose_ int fd = -1;
	struct stat st;
	struct err e;

	assert_int_equal(fs_mkdirs(s->fd, "a/b//c/", 0700, &e), 0);
	assert_int_equal(fs_mkdirs(s->fd, "a/b/c/d", 0700, &e), 0);
	assert_int_equal(fs_mkdirs(s->fd, "a", 0700, &e), 0);
	assert_int_equal(fstatat(s->fd, "a/b/c/d", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(fs_mkdirs(AT_FDCWD, s->path, 0700, &e), 0);
	assert_int_equal(fs_mkdirs(AT_FDCWD, "/", 0700, &e), 0);
	scratch_write(s->fd, "file", "");
	assert_int_equal(fs_mkdirs(s->fd, "file", 0700, &e), -ENOTDIR);
	assert_string_equal(e.msg, "'file' is there and is not a directory");
	assert_int_equal(fs_mkdirs(s->fd, "file/x", 0700, &e), -ENOTDIR);
	assert_int_equal(fs_mkdirs(s->fd, "", 0700, &e), -ENOENT);
	assert_int_equal(symlinkat("a/b", s->fd, "link"), 0);
	assert_int_equal(fs_mkdirs(s->fd, "link/z", 0700, &e), 0);
	assert_true(scratch_has(s->fd, "a/b/z"));
	for (unsigned at = 1; at <= 2; at++) {
		fault_arm(at, FAULT_FAIL);
		assert_true(fs_mkdirs(s->fd, "p/q", 0700, &e) < 0);
	}
	fault_arm(0, FAULT_FAIL);

	assert_int_equal(fs_open_dir(s->fd, "link", &fd, &e), -ENOTDIR);
	assert_int_equal(fs_open_dir(s->fd, "file", &fd, &e), -ENOTDIR);
	assert_int_equal(fd, -1);
	assert_int_equal(fs_open_dir(s->fd, "a/b", &fd, &e), 0);
	assert_true(scratch_has(fd, "z"));
}

static void test_find_above(void **state)
{
	struct scratch *s = *state;
	char top[PATH_MAX], below[PATH_MAX + 8], name[40];
	char *found;
	struct err e;

	snprintf(name, sizeof(name), "mark-%d", (int)getpid());
	snprintf(top, sizeof(top), "/proc/self/fd/%d", s->fd);
	assert_non_null(realpath(top, below));
	memcpy(top, below, sizeof(top));
	snprintf(below, sizeof(below), "%s/a/b", top);
	assert_int_equal(fs_mkdirs(s->fd, "a/b", 0700, &e), 0);
	assert_null(fs_find_above(below, name));
	assert_int_equal(symlinkat("nowhere", s->fd, name), 0); /* a dangling link counts */
	found = fs_find_above(below, name);
	assert_string_equal(found, top);
	free(found);
	found = fs_find_above(top, name);
	assert_string_equal(found, top);
	free(found);
	found = fs_find_above(below, "proc");
	assert_string_equal(found, "");
	free(found);
	found = fs_find_above("", "proc");
	assert_string_equal(found, "");
	free(found);
}

static void test_name_ok(void **state)
{
	char longest[NAME_MAX + 1];

	(void)state;
	assert_true(fs_name_ok(SLICE("crash-da39a3ee")));
	assert_true(fs_name_ok(SLICE("...")));
	assert_true(fs_name_ok(SLICE(".a")));
	assert_true(fs_name_ok(SLICE("\xff\xfe name")));
	assert_false(fs_name_ok(SLICE("")));
	assert_false(fs_name_ok((struct slice){NULL, 0}));
	assert_false(fs_name_ok(SLICE(".")));
	assert_false(fs_name_ok(SLICE("..")));
	assert_false(fs_name_ok(SLICE("a/b")));
	assert_false(fs_name_ok(SLICE("a\nb")));
	assert_false(fs_name_ok(SLICE("a\0b")));
	assert_false(fs_name_ok(SLICE("\x1b[2J")));
	assert_false(fs_name_ok(SLICE("\x7f")));
	memset(longest, 'a', sizeof(longest));
	assert_true(fs_name_ok((struct slice){longest, NAME_MAX}));
	assert_false(fs_name_ok((struct slice){longest, NAME_MAX + 1}));
}

static const struct CMUnitTest tests[] = {
    CASE(test_torture),
    CASE(test_replace),
    CASE(test_append),
    CASE(test_read),
    CASE(test_read_kernel),
    CASE(test_read_odd),
    CASE(test_open_file),
    CASE(test_copy),
    CASE(test_mkdirs),
    CASE(test_find_above),
    cmocka_unit_test(test_name_ok),
};

UNIT_MAIN(tests)
