/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "images/nameless.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/vfs.h>

enum { FILE_BYTES = 1 << 16 };

static struct scratch dir;
static bool in_memory; /* the scratch directory's file system: nothing of it counts */

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

	nameless_look(&l, (uint64_t)getpid());
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
	expect(before, 0); /* it still has one */
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
	expect(before, 1); /* that is counted as memory */
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

static void send_one(int to, int fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} c = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS}};
	char byte = 0;
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = c.space,
			   .msg_controllen = sizeof(c.space)};

	memcpy(CMSG_DATA(&c.head), &fd, sizeof(fd));
	assert_int_equal(sendmsg(to, &m, 0), 1);
}

static void what_is_in_flight_is_said(void **state)
{
	int fd = make_file("c"), pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(unlinkat(dir.fd, "c", 0), 0);
	assert_false(look().unsure);
	send_one(pair[0], fd);
	close(fd);
	assert_true(look().unsure);
	close(pair[0]);
	close(pair[1]);
	assert_false(look().unsure);
}

static void nobody_holds_nothing(void **state)
{
	struct nameless l = {0};
	struct cell_nameless n;

	(void)state;
	nameless_look(&l, UINT32_MAX);
	nameless_sum(&l, &n);
	assert_int_equal(n.files + n.bytes + n.unsure, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(open_files, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(mapped_files, each_setup, each_teardown),
    cmocka_unit_test_setup_teardown(what_is_in_flight_is_said, each_setup, each_teardown),
    cmocka_unit_test(nobody_holds_nothing),
};

UNIT_MAIN(tests)
