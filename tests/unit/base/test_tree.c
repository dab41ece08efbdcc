/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "tests/unit/each.h"
#include "tests/unit/forked.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void make_dir(int dirfd, const char *path)
{
	struct err e;

	if (fs_mkdirs(dirfd, path, 0700, &e) < 0)
		fail_msg("%s", e.msg);
}

/* Nested directories with a file in the last, deeper than any path. */
static void make_deep(int dirfd, const char *name, unsigned depth)
{
	int at = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (unsigned i = 0; i < depth; i++) {
		const char *below = i ? "d" : name;
		int next;

		assert_int_equal(mkdirat(at, below, 0700), 0);
		next = openat(at, below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	scratch_write(at, "leaf", "x");
	close(at);
}

static void make_files(int dirfd, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "f%u", i);
		scratch_write(dirfd, name, "");
	}
}

static void removes(int dirfd, const char *path)
{
	struct err e;

	if (fs_remove_tree(dirfd, path, &e) < 0)
		fail_msg("%s", e.msg);
	assert_false(scratch_has(dirfd, path));
}

static void test_remove(void **state)
{
	const struct scratch *s = *state;
	char got[16];

	removes(s->fd, "none");
	scratch_write(s->fd, "file", "");
	removes(s->fd, "file");
	make_dir(s->fd, "out/side");
	scratch_write(s->fd, "out/side/kept", "kept");
	make_dir(s->fd, "t/a/b/c");
	make_dir(s->fd, "t/empty");
	scratch_write(s->fd, "t/a/file", "x");
	assert_int_equal(mkfifoat(s->fd, "t/a/fifo", 0600), 0);
	assert_int_equal(symlinkat("../out", s->fd, "t/dirlink"), 0);
	assert_int_equal(symlinkat(s->path, s->fd, "t/a/absolute"), 0);
	assert_int_equal(symlinkat("nowhere", s->fd, "t/a/b/dangling"), 0);
	removes(s->fd, "t");
	assert_string_equal(scratch_text(s->fd, "out/side/kept", got, sizeof(got)), "kept");
	/* The path itself may be a link: the link is removed, its target stays. */
	assert_int_equal(symlinkat("out", s->fd, "link"), 0);
	removes(s->fd, "link");
	assert_true(scratch_has(s->fd, "out/side/kept"));
}

static void test_remove_many(void **state)
{
	const struct scratch *s = *state;
	_autoclose_ int fd = -1;

	make_dir(s->fd, "t");
	fd = openat(s->fd, "t", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_files(fd, 5000);
	removes(s->fd, "t");
}

/* Two trees deeper than the limit of descriptors, beside each other and with other entries. */
static void test_remove_deep(void **state)
{
	const struct scratch *s = *state;
	struct rlimit old, few;
	_autoclose_ int fd = -1;

	make_dir(s->fd, "t/mid");
	fd = openat(s->fd, "t", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_deep(fd, "one", 600);
	make_deep(fd, "two", 300);
	make_deep(fd, "three", 128);
	scratch_write(s->fd, "t/mid/file", "");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = (struct rlimit){160, old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	removes(s->fd, "t");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

/* Every failure is reported, and a second call removes the rest. */
static void test_remove_faults(void **state)
{
	const struct scratch *s = *state;

	for (unsigned at = 1;; at++) {
		struct err e;
		int r;

		make_dir(s->fd, "t/a/b");
		scratch_write(s->fd, "t/a/file", "");
		fault_arm(at, FAULT_FAIL);
		r = fs_remove_tree(s->fd, "t", &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0) {
			assert_int_equal(at, 9);
			assert_false(scratch_has(s->fd, "t"));
			return;
		}
		assert_memory_equal(e.msg, "remove 't': ", 12);
		assert_true(scratch_has(s->fd, "t"));
		removes(s->fd, "t");
	}
}

/* For forked(): mount points are refused. */
static int refuses_mounts(void)
{
	char mount_dir[64], file[64];
	struct err e;
	int dirfd;

	snprintf(mount_dir, sizeof(mount_dir), "%s/t/mnt", dir.path);
	snprintf(file, sizeof(file), "%s/precious", dir.path);
	if (!mounts_are_ours() || mount(file, mount_dir, NULL, MS_BIND, NULL) < 0)
		return FORKED_SKIP;
	dirfd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* to see the mount */
	if (fs_remove_tree(dirfd, "t", &e) != -EXDEV)
		return 1;
	if (strcmp(e.msg, "remove 't': 'mnt' is a mount point") != 0)
		return 2;
	if (fs_remove_tree(dirfd, "t/mnt", &e) != -EXDEV)
		return 3;
	return scratch_has(dirfd, "precious/corpus") ? 0 : 4;
}

/* A bind mount of a directory on the same file system, as cells have. */
static void test_remove_mount(void **state)
{
	const struct scratch *s = *state;

	make_dir(s->fd, "t/mnt");
	make_dir(s->fd, "precious/corpus");
	forked(refuses_mounts);
	removes(s->fd, "t"); /* here nothing is mounted */
}

static void usage_is(int fd, uint64_t stop_bytes, uint64_t stop_files, uint64_t files)
{
	struct fs_usage u;
	struct err e;

	if (fs_usage(fd, stop_bytes, stop_files, &u, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(u.files, files);
}

static void test_usage(void **state)
{
	const struct scratch *s = *state;
	struct fs_usage u, more;
	static char text[300000];
	_autoclose_ int fd = -1;
	struct err e;

	usage_is(s->fd, 0, 0, 0);
	make_dir(s->fd, "a/b");
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(symlinkat("/usr", s->fd, "a/link"), 0); /* an entry, not followed */
	scratch_write(s->fd, "a/b/small", "x");
	assert_int_equal(fs_usage(s->fd, 0, 0, &u, &e), 0);
	assert_int_equal(u.files, 4);
	scratch_write(s->fd, "a/b/big", text);
	assert_int_equal(fs_usage(s->fd, 0, 0, &more, &e), 0);
	assert_in_range(more.bytes - u.bytes, sizeof(text) - 1, sizeof(text) + 65536);
	/* Blocks count, not lengths: a hole takes no space. */
	scratch_write(s->fd, "sparse", "");
	fd = openat(s->fd, "sparse", O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, 1 << 30), 0);
	assert_int_equal(fs_usage(s->fd, 0, 0, &u, &e), 0);
	assert_true(u.bytes - more.bytes < 100000);
	assert_int_equal(fs_usage(-1, 0, 0, &u, &e), -EBADF);
}

/* Names make a directory grow: its own blocks count, also at the top. */
static void test_usage_of_names(void **state)
{
	struct scratch *s = *state;
	struct fs_usage before, after;
	char name[201];
	struct err e;

	scratch_write(s->fd, "one", "");
	assert_int_equal(fs_usage(s->fd, 0, 0, &before, &e), 0);
	for (int i = 0; i < 2000; i++) {
		(void)snprintf(name, sizeof(name), "%0200d", i);
		assert_int_equal(linkat(s->fd, "one", s->fd, name, 0), 0);
	}
	assert_int_equal(fs_usage(s->fd, 0, 0, &after, &e), 0);
	assert_int_equal(after.files - before.files, 2000);
	assert_true(after.bytes - before.bytes >= 2000 * 200);
}

static void test_usage_stops(void **state)
{
	const struct scratch *s = *state;
	struct fs_usage u;
	struct err e;

	make_files(s->fd, 100);
	scratch_write(s->fd, "g1", "text");
	scratch_write(s->fd, "g2", "text");
	usage_is(s->fd, 0, 0, 102);
	usage_is(s->fd, 0, 10, 10);
	usage_is(s->fd, 0, 102, 102);
	usage_is(s->fd, 0, 1000, 102);
	assert_int_equal(fs_usage(s->fd, 1, 0, &u, &e), 0);
	assert_true(u.bytes >= 1 && u.files < 102);
}

/* A tree that is too deep to measure counts as above every limit. */
static void test_usage_deep(void **state)
{
	const struct scratch *s = *state;
	struct fs_usage u;
	struct err e;

	make_deep(s->fd, "ok", 128);
	usage_is(s->fd, 0, 0, 129);
	make_deep(s->fd, "deep", 129 + 1);
	assert_int_equal(fs_usage(s->fd, 0, 0, &u, &e), 0);
	assert_true(u.bytes == UINT64_MAX && u.files == UINT64_MAX);
}

static void __attribute__((noreturn)) keep_moving(int at)
{
	for (;;)
		if (renameat(at, "here", at, "there") < 0 || renameat(at, "there", at, "here") < 0)
			_exit(1);
}

/* A directory that is renamed all the time may be missed: the sum has a mark for this. */
static void test_usage_moved(void **state)
{
	const struct scratch *s = *state;
	struct fs_usage u = {0};
	struct err e;
	pid_t pid;

	make_dir(s->fd, "here/a");
	assert_int_equal(fs_usage(s->fd, 0, 0, &u, &e), 0);
	assert_false(u.moved);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		keep_moving(s->fd);
	while (!u.moved) /* the test's watchdog ends it */
		assert_int_equal(fs_usage(s->fd, 0, 0, &u, &e), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A directory's own mode stops every user except root. */
static void test_remove_closed(void **state)
{
	const struct scratch *s = *state;
	int status;
	pid_t pid;

	assert_int_equal(fchmod(s->fd, 0777), 0);
	pid = fork();
	if (pid == 0) {
		struct err e;

		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(2);
		make_dir(s->fd, "t/a/b/c");
		_exit(fchmodat(s->fd, "t/a/b", 0, 0) < 0 || fchmodat(s->fd, "t/a", 0500, 0) < 0 ||
			      fchmodat(s->fd, "t", 0, 0) < 0 || fs_remove_tree(s->fd, "t", &e) < 0
			  ? 1
			  : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(scratch_has(s->fd, "t"));
}

static const struct CMUnitTest tests[] = {
    CASE(test_remove),	       CASE(test_remove_many),	CASE(test_remove_deep),
    CASE(test_remove_faults),  CASE(test_remove_mount), CASE(test_usage),
    CASE(test_usage_of_names), CASE(test_usage_stops),	CASE(test_usage_deep),
    CASE(test_remove_closed),  CASE(test_usage_moved),
};

UNIT_MAIN(tests)
