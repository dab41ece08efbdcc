/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "cells/nameless.h"
#include "tests/targets/send_fd.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/vfs.h>

enum { FILE_BYTES = 1 << 16 };

static struct scratch dir;
static bool in_memory; /* the scratch directory is in memory: its files do not count */

static int each_setup(void **state)
{
	struct statfs fs;

	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	assert_int_equal(fstatfs(dir.fd, &fs), 0);
	in_memory = fs.f_type == TMPFS_MAGIC;
	return 0;
}

static int each_teardown(void **state)
{
	(void)state;
	scratch_remove(&dir);
	return 0;
}

static struct cell_nameless look(void)
{
	struct nameless l = {0};
	struct cell_nameless n;

	nameless_check_process(&l, (uint64_t)getpid());
	nameless_sum(&l, &n);
	return n;
}

static void expect(struct cell_nameless before, unsigned files)
{
	struct cell_nameless n = look();

	if (in_memory)
		files = 0;
	assert_int_equal(n.files, before.files + files);
	assert_true(n.bytes >= before.bytes + (uint64_t)files * FILE_BYTES);
	assert_true(n.bytes < before.bytes + (uint64_t)(files + 1) * FILE_BYTES);
}

static int make_file(const char *name)
{
	static char block[FILE_BYTES];
	int fd = openat(dir.fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	memset(block, 1, sizeof(block));
	assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	return fd;
}

static void open_files(void **state)
{
	struct cell_nameless before = look();
	int fd = make_file("a"), twice, other, memory;

	(void)state;
	expect(before, 0); /* it has a name */
	assert_int_equal(linkat(dir.fd, "a", dir.fd, "a (deleted)", 0), 0);
	assert_int_equal(unlinkat(dir.fd, "a", 0), 0);
	expect(before, 0); /* it still has a name */
	assert_int_equal(unlinkat(dir.fd, "a (deleted)", 0), 0);
	expect(before, 1);
	twice = dup(fd);
	expect(before, 1);
	other = openat(dir.fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (other >= 0) {
		static char block[FILE_BYTES] = {1};

		assert_int_equal(write(other, block, sizeof(block)), sizeof(block));
		expect(before, 2);
		close(other);
	}
	memory = memfd_create("m", MFD_CLOEXEC);
	assert_int_equal(ftruncate(memory, FILE_BYTES), 0);
	expect(before, 1); /* counted as memory */
	close(memory);
	close(fd);
	expect(before, 1);
	close(twice);
	expect(before, 0);
}

static void mapped_files(void **state)
{
	struct cell_nameless before = look();
	int fd = make_file("b (deleted)");
	void *p = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	(void)state;
	assert_true(p != MAP_FAILED);
	close(fd);
	expect(before, 0);
	assert_int_equal(unlinkat(dir.fd, "b (deleted)", 0), 0);
	expect(before, 1);
	assert_int_equal(munmap(p, FILE_BYTES), 0);
	expect(before, 0);
}

/* No other process holds the file. */
static void a_current_directory_counts(void **state)
{
	struct cell_nameless before = look(), now;
	int home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(home >= 0);
	assert_int_equal(mkdirat(dir.fd, "gone", 0700), 0);
	assert_int_equal(fchdir(dir.fd), 0);
	assert_int_equal(chdir("gone"), 0);
	assert_int_equal(unlinkat(dir.fd, "gone", AT_REMOVEDIR), 0);
	now = look();
	assert_int_equal(fchdir(home), 0);
	close(home);
	assert_int_equal(now.files, before.files + 1);
	assert_int_equal(look().files, before.files);
}

/* A process may have 65,000 mappings of one file; to check each took seconds. */
static void a_file_that_is_mapped_often_counts_once(void **state)
{
	enum { TIMES = 20000 };
	static void *at[TIMES];
	struct cell_nameless before = look();
	int fd = make_file("d");

	(void)state;
	assert_int_equal(unlinkat(dir.fd, "d", 0), 0);
	for (size_t i = 0; i < TIMES; i++) {
		at[i] = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		assert_true(at[i] != MAP_FAILED);
	}
	close(fd);
	expect(before, 1);
	for (size_t i = 0; i < TIMES; i++)
		assert_int_equal(munmap(at[i], 4096), 0);
	expect(before, 0);
}

/* A check that runs out of time ends, and its sum is marked as unsure. */
static void a_look_that_takes_too_long_ends(void **state)
{
	struct nameless l = {.until_us = 1};
	struct cell_nameless n;

	(void)state;
	nameless_check_process(&l, (uint64_t)getpid());
	nameless_sum(&l, &n);
	assert_true(n.unsure);
	assert_int_equal(n.files, 0);
}

static void descriptors_in_flight_are_reported(void **state)
{
	int fd = make_file("c"), pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(unlinkat(dir.fd, "c", 0), 0);
	assert_false(look().unsure);
	assert_int_equal(send_fd(pair[0], fd, 0), 0);
	close(fd);
	assert_true(look().unsure);
	close(pair[0]);
	close(pair[1]);
	assert_false(look().unsure);
}

static void a_process_that_is_gone_holds_nothing(void **state)
{
	struct nameless l = {0};
	struct cell_nameless n;

	(void)state;
	nameless_check_process(&l, UINT32_MAX);
	nameless_sum(&l, &n);
	assert_int_equal(n.files + n.bytes + n.unsure, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(open_files, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(mapped_files, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(a_file_that_is_mapped_often_counts_once, each_setup,
				    each_teardown),
    cmocka_unit_test_setup_teardown(a_look_that_takes_too_long_ends, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(a_current_directory_counts, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(descriptors_in_flight_are_reported, each_setup, each_teardown),
    cmocka_unit_test(a_process_that_is_gone_holds_nothing),
};

UNIT_MAIN(tests)
