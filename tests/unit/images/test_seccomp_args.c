/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with a decisive argument.  A refused value is refused also with bits that the kernel
 * ignores. */
#include "tests/unit/unit.h"

#include "tests/unit/images/filtered.h"

#include <linux/falloc.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>

#define HIGH (1L << 32)

static long map_with(long flags)
{
	return syscall(SYS_mmap, NULL, 4096, PROT_READ,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

static long c_map_huge(void)
{
	return map_with(MAP_HUGETLB);
}

static long c_map_huge_high(void)
{
	return map_with(MAP_HUGETLB | HIGH);
}

static long c_memfd(void)
{
	return memfd_create("x", MFD_CLOEXEC);
}

static long c_memfd_huge(void)
{
	return syscall(SYS_memfd_create, "x", MFD_HUGETLB | HIGH);
}

static long c_shm(void)
{
	return syscall(SYS_shmget, 0, 4096, 01600);
}

/* At an address that is not mapped: ENOMEM, at once. */
static long c_mincore(void)
{
	unsigned char vec[1];

	return syscall(SYS_mincore, 0, 4096, vec);
}

static long c_mincore_large(void)
{
	return syscall(SYS_mincore, 0, HIGH, NULL);
}

static long advise(long advice)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return syscall(SYS_madvise, p, 4096, advice);
}

static long c_dontneed(void)
{
	return advise(MADV_DONTNEED);
}

static long c_mergeable(void)
{
	return advise(MADV_MERGEABLE);
}

static long c_mergeable_high(void)
{
	return advise(MADV_MERGEABLE | HIGH);
}

static long option(long level, long name)
{
	int one = 1;

	return syscall(SYS_setsockopt, -1, level, name, &one, sizeof(one));
}

static long c_send_buffer(void)
{
	return option(SOL_SOCKET, SO_SNDBUF);
}

static long c_no_delay(void)
{
	return option(IPPROTO_TCP, 1);
}

static long c_attach(void)
{
	return option(SOL_SOCKET, SO_ATTACH_FILTER);
}

static long c_attach_high(void)
{
	return option(SOL_SOCKET | HIGH, SO_ATTACH_FILTER);
}

static long c_attach_bpf(void)
{
	return option(SOL_SOCKET, SO_ATTACH_BPF);
}

static long c_lock_filter(void)
{
	return option(SOL_SOCKET, SO_LOCK_FILTER);
}

static long c_name(void)
{
	return prctl(PR_SET_NAME, "x", 0, 0, 0);
}

static long c_filter(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
}

static long c_filter_high(void)
{
	return syscall(SYS_prctl, PR_SET_SECCOMP | HIGH, SECCOMP_MODE_STRICT, 0, 0, 0);
}

static long c_merge(void)
{
	return prctl(67 /* PR_SET_MEMORY_MERGE */, 1, 0, 0, 0);
}

static long c_core(void)
{
	return prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, 0, 0);
}

static long c_notify(void)
{
	return fcntl(-1, F_NOTIFY, DN_ACCESS);
}

static long c_lease(void)
{
	return fcntl(-1, F_SETLEASE, F_RDLCK);
}

static long c_lease_high(void)
{
	return syscall(SYS_fcntl, -1, F_SETLEASE | HIGH, F_RDLCK);
}

static long c_close_on_exec(void)
{
	return fcntl(0, F_GETFD);
}

/* The file is not open: the filter answers without a check of the descriptor. */
static long c_lock(void)
{
	struct flock l = {.l_type = F_WRLCK};

	return fcntl(-1, F_SETLK, &l);
}

static long c_flock(void)
{
	return flock(-1, LOCK_EX);
}

static long c_forget_cache(void)
{
	return syscall(SYS_fadvise64, -1, 0, 0, POSIX_FADV_DONTNEED);
}

static long allocate(long mode)
{
	return syscall(SYS_fallocate, -1, mode, 0, 1);
}

static long c_allocate(void)
{
	return allocate(0);
}

static long c_allocate_unseen(void)
{
	return allocate(FALLOC_FL_KEEP_SIZE | HIGH);
}

static long c_punch(void)
{
	return allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
}

static long c_inotify(void)
{
	return inotify_init1(IN_CLOEXEC);
}

static const struct attempt attempts[] = {
    {"huge pages", c_map_huge, ENOMEM, NULL},
    {"huge pages, high bits", c_map_huge_high, ENOMEM, NULL},
    {"memfd", c_memfd, 0, NULL},
    {"memfd of huge pages", c_memfd_huge, EINVAL, NULL},
    {"shmget", c_shm, EPERM, "shmget"},
    {"give back", c_dontneed, 0, NULL},
    {"mergeable", c_mergeable, EINVAL, NULL},
    {"mergeable, high bits", c_mergeable_high, EPERM, "madvise"},
    {"mincore", c_mincore, ENOMEM, NULL},
    {"mincore, 4 GiB", c_mincore_large, EPERM, "mincore"},
    {"send buffer", c_send_buffer, EBADF, NULL},
    {"no delay", c_no_delay, EBADF, NULL},
    {"socket filter", c_attach, EPERM, "setsockopt"},
    {"socket filter, high bits", c_attach_high, EPERM, "setsockopt"},
    {"socket BPF", c_attach_bpf, EPERM, "setsockopt"},
    {"lock filter", c_lock_filter, EPERM, "setsockopt"},
    {"thread name", c_name, 0, NULL},
    {"own filter", c_filter, EPERM, "prctl"},
    {"own filter, high bits", c_filter_high, EPERM, "prctl"},
    {"memory merge", c_merge, EINVAL, NULL},
    {"core scheduling", c_core, EPERM, "prctl"},
    {"directory notify", c_notify, EPERM, "fcntl"},
    {"lease", c_lease, EPERM, "fcntl"},
    {"lease, high bits", c_lease_high, EPERM, "fcntl"},
    {"close-on-exec", c_close_on_exec, 0, NULL},
    {"record lock", c_lock, 0, NULL},
    {"file lock", c_flock, 0, NULL},
    {"empty the page cache", c_forget_cache, 0, NULL},
    {"allocate", c_allocate, EOPNOTSUPP, NULL},
    {"allocate behind the end, high bits", c_allocate_unseen, EOPNOTSUPP, NULL},
    {"punch a hole", c_punch, EBADF, NULL},
    {"inotify", c_inotify, EPERM, "inotify_init1"},
};

static void arguments_are_let_through_or_refused(void **state)
{
	(void)state;
	try_all(attempts, sizeof(attempts) / sizeof(attempts[0]));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(arguments_are_let_through_or_refused),
};

UNIT_MAIN(tests)
