/* SPDX-License-Identifier: Apache-2.0 */
/* Uses disk space in files without a name, of DISK_FILE bytes (8 MiB) each, until DISK_BYTES
 * (2 GiB).  Then it keeps them and continues fuzzing.  DISK_HIDE is the way to keep a file:
 *   0  unlinked and open           3  its descriptor in flight between two sockets
 *   1  made without a name         4  open in a thread with a table of its own
 *   2  mapped, no descriptor       5  mapped, and the first thread has ended
 *   6  open and empty: inodes, not bytes
 * Promise: disk.  The cell ends as `disk-limit`, and the file system does not fill. */
#include "disk.h"
#include "send_fd.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { HIDE_OPEN, HIDE_TMPFILE, HIDE_MAP, HIDE_FLIGHT, HIDE_THREAD, HIDE_FIRST, HIDE_EMPTY };

static char block[1 << 20];
static uint64_t held;

static int make_file(uint64_t how, uint64_t bytes)
{
	static unsigned n;
	char name[64], where[256];
	int fd;

	(void)snprintf(name, sizeof(name), "/work/corpus/hidden-%u", n++);
	if (how == HIDE_TMPFILE)
		fd = open(planted_path(where, sizeof(where), "/work/corpus"), O_TMPFILE | O_RDWR,
			  0600);
	else
		fd = open(planted_path(where, sizeof(where), name), O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return -1;
	if (how != HIDE_TMPFILE)
		(void)unlink(where);
	for (uint64_t done = 0; how != HIDE_EMPTY && done < bytes; done += sizeof(block))
		if (write(fd, block, sizeof(block)) != sizeof(block)) {
			(void)close(fd);
			return -1;
		}
	return fd;
}

static int keep(uint64_t how, int fd, uint64_t bytes)
{
	static int pair[2] = {-1, -1};
	int r = 0;

	if (how == HIDE_MAP || how == HIDE_FIRST) {
		if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
			return -1;
		(void)close(fd);
	} else if (how == HIDE_FLIGHT) {
		if (pair[0] < 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
			return -1;
		r = send_fd(pair[0], fd, MSG_DONTWAIT);
		if (r < 0) { /* its queue is full: the pair stays open, and a new one is made */
			pair[0] = -1;
			r = socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0
				? -1
				: send_fd(pair[0], fd, MSG_DONTWAIT);
		}
		(void)close(fd);
	}
	if (r == 0)
		held += how == HIDE_EMPTY ? 0 : bytes;
	return r;
}

static void *take(void *arg)
{
	uint64_t how = planted_env("DISK_HIDE", HIDE_OPEN);
	uint64_t bytes = planted_env("DISK_FILE", 8 * PLANTED_MIB);
	uint64_t files = 0, most = planted_env("DISK_BYTES", 2 * PLANTED_GIB);
	int fd = 0;

	(void)arg;
	while (held < most && (fd = make_file(how, bytes)) >= 0 && keep(how, fd, bytes) == 0) {
		files++;
		if (files % 4 == 0)
			dprintf(STDERR_FILENO, "planted: hid %llu MiB\n",
				(unsigned long long)(held >> 20));
	}
	planted_report("hide", held < most ? errno : 0);
	for (;;)
		planted_nap(1000);
}

/* The child of clone(2) without CLONE_FILES: it has descriptors of its own. */
static int alone(void *arg)
{
	(void)take(arg);
	return 0;
}

static void begin(uint64_t how)
{
	static char stack[1 << 18] __attribute__((aligned(16)));
	pthread_t t;

	if (how == HIDE_THREAD) {
		if (clone(alone, stack + sizeof(stack),
			  CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD, NULL) < 0)
			planted_report("hide in a thread", errno);
		return;
	}
	if (pthread_create(&t, NULL, take, NULL) != 0)
		planted_report("thread", EAGAIN);
	if (how == HIDE_FIRST)
		syscall(SYS_exit, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool done;

	if (!done && size > 0) {
		done = true;
		memset(block, 0xa5, sizeof(block));
		begin(planted_env("DISK_HIDE", HIDE_OPEN));
	}
	planted_nap(1);
	return planted_work(data, size);
}
