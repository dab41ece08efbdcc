/* SPDX-License-Identifier: Apache-2.0 */
/* Part of escape_fuzzer: system calls that change the cell itself, or reach outside of it.  Each
 * runs in its own child. */
#include "escape.h"
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* For calls that return -1 with errno, or a descriptor that the child's exit closes. */
static int answer(long r)
{
	return r < 0 ? errno : 0;
}

static int do_mount(const char *arg)
{
	int r;

	(void)arg;
	if (unshare(CLONE_NEWNS) == 0) /* outside a cell: keeps the host's mounts unchanged */
		(void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	r = answer(mount("planted", "/tmp", "tmpfs", 0, "size=4k"));
	if (r == 0)
		(void)umount2("/tmp", MNT_DETACH);
	return r;
}

static int do_remount(const char *path)
{
	return answer(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int do_umount(const char *path)
{
	return answer(umount2(path, MNT_DETACH));
}

static int do_chroot(const char *path)
{
	return answer(chroot(path));
}

static int do_mknod(const char *kind)
{
	static const char path[] = "/tmp/planted-node";
	bool memory = strcmp(kind, "character 1:1") == 0;
	int r = answer(mknod(path, (memory ? S_IFCHR : S_IFBLK) | 0600,
			     memory ? makedev(1, 1) : makedev(254, 0)));

	if (r == 0)
		(void)unlink(path);
	return r;
}

/* Being root inside the cell is no escape; writing files of the outer root is one. */
static int do_setuid_write(const char *dir)
{
	char path[64];
	int fd;

	if (setgid(0) < 0 || setuid(0) < 0)
		return errno;
	(void)snprintf(path, sizeof(path), "%s/planted-setuid", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	(void)unlink(path);
	return 0;
}

static int do_capabilities(const char *set)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");
	int r = ENODATA;

	while (f && r == ENODATA && fgets(line, sizeof(line), f))
		if (strncmp(line, set, strlen(set)) == 0)
			r = strtoull(line + strlen(set) + 1, NULL, 16) ? 0 : EPERM;
	return f ? r : errno;
}

static int do_new_privileges(const char *arg)
{
	(void)arg;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? EPERM : 0;
}

static int do_unshare(const char *kind)
{
	return answer(unshare(strcmp(kind, "user") == 0 ? CLONE_NEWUSER : CLONE_NEWNET));
}

static int do_ptrace(const char *arg)
{
	pid_t pid = (pid_t)planted_env("PLANTED_PID", 0);

	(void)arg;
	return pid ? answer(ptrace(PTRACE_SEIZE, pid, NULL, NULL)) : ESRCH;
}

static int do_kill(const char *arg)
{
	pid_t pid = (pid_t)planted_env("PLANTED_PID", 0);

	(void)arg;
	return pid ? answer(kill(pid, 0)) : ESRCH;
}

static int do_read_memory(const char *arg)
{
	pid_t pid = (pid_t)planted_env("PLANTED_PID", 0);
	char byte;
	struct iovec here = {&byte, 1}, there = {(void *)do_read_memory, 1};
	ssize_t n;

	(void)arg;
	if (!pid)
		return ESRCH;
	n = process_vm_readv(pid, &here, 1, &there, 1, 0);
	return n < 0 && errno != EFAULT ? errno : 0; /* EFAULT: the call was allowed */
}

static int do_handle(const char *arg)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + 8];
	} u = {.h = {.handle_bytes = 8, .handle_type = 1}};
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t root_inode = 2;

	(void)arg;
	memcpy(u.h.f_handle, &root_inode, sizeof(root_inode));
	if (open_by_handle_at(fd, &u.h, O_RDONLY) >= 0)
		return 0;
	return errno == EOPNOTSUPP ? ESTALE : errno;
}

static int do_keyctl(const char *arg)
{
	(void)arg;
	return answer(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0));
}

static int do_perf(const char *arg)
{
	struct perf_event_attr a = {
	    .type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_CPU_CLOCK};

	(void)arg;
	return answer(syscall(SYS_perf_event_open, &a, 0, -1, -1, 0));
}

static int do_userfaultfd(const char *arg)
{
	(void)arg;
	return answer(syscall(SYS_userfaultfd, O_CLOEXEC));
}

static int do_io_uring(const char *arg)
{
	char params[128] = {0};

	(void)arg;
	return answer(syscall(SYS_io_uring_setup, 1, params));
}

static int do_priority(const char *arg)
{
	struct sched_param p = {.sched_priority = 1};

	(void)arg;
	return answer(sched_setscheduler(0, SCHED_FIFO, &p));
}

static int do_nice(const char *arg)
{
	(void)arg;
	return answer(setpriority(PRIO_PROCESS, 0, -10));
}

static int do_file_limit(const char *arg)
{
	struct rlimit r;

	(void)arg;
	if (getrlimit(RLIMIT_FSIZE, &r) < 0)
		return errno;
	if (r.rlim_max == RLIM_INFINITY)
		return 0;
	r.rlim_max = r.rlim_cur = RLIM_INFINITY;
	return answer(setrlimit(RLIMIT_FSIZE, &r));
}

static int do_tiocsti(const char *arg)
{
	(void)arg;
	return answer(ioctl(STDIN_FILENO, TIOCSTI, "\n"));
}

static int do_oom_score(const char *file)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? errno : answer(write(fd, "0", 1));
}

/* Without a reservation: the machine may have no pool. */
static int do_huge_pages(const char *call)
{
	void *p;
	int id;

	if (strcmp(call, "memfd_create") == 0)
		return answer(memfd_create("planted", MFD_CLOEXEC | MFD_HUGETLB));
	if (strcmp(call, "mmap") == 0) {
		p = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
		return p == MAP_FAILED ? errno : 0;
	}
	id = shmget(IPC_PRIVATE, 2 << 20, IPC_CREAT | SHM_HUGETLB | SHM_NORESERVE | 0600);
	if (id >= 0)
		(void)shmctl(id, IPC_RMID, NULL);
	return answer(id);
}

static int do_merge_pages(const char *call)
{
	enum { MEMORY_MERGE = 67 };
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (strcmp(call, "prctl") == 0)
		return answer(prctl(MEMORY_MERGE, 1, 0, 0, 0));
	return answer(madvise(p, 4096, MADV_MERGEABLE));
}

static struct sock_filter pass_all[] = {{.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW}};
static const struct sock_fprog pass = {.len = 1, .filter = pass_all};

static int do_socket_filter(const char *option)
{
	int p[2], name = strcmp(option, "SO_LOCK_FILTER") == 0 ? SO_LOCK_FILTER : SO_ATTACH_FILTER;
	int one = 1;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, p) < 0)
		return errno;
	if (name == SO_LOCK_FILTER)
		return answer(setsockopt(p[0], SOL_SOCKET, name, &one, sizeof(one)));
	return answer(setsockopt(p[0], SOL_SOCKET, name, &pass, sizeof(pass)));
}

static int do_own_filter(const char *arg)
{
	(void)arg;
	return answer(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &pass, 0, 0));
}

static int do_watch(const char *dir)
{
	int fd = inotify_init1(IN_CLOEXEC);

	return fd < 0 ? errno : answer(inotify_add_watch(fd, dir, IN_ACCESS));
}

static int do_notify(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? errno : answer(fcntl(fd, F_NOTIFY, DN_ACCESS));
}

static int do_lease(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? errno : answer(fcntl(fd, F_SETLEASE, F_WRLCK));
}

/* A lock that is granted is harmless.  A lock that another process then cannot get is an escape. */
static int do_file_lock(const char *path)
{
	int mine = open(path, O_RDONLY | O_CLOEXEC), other = open(path, O_RDONLY | O_CLOEXEC);

	if (mine < 0 || other < 0 || flock(mine, LOCK_EX | LOCK_NB) < 0)
		return errno;
	return flock(other, LOCK_EX | LOCK_NB) < 0 ? 0 : ENOLCK;
}

static int do_record_lock(const char *path)
{
	struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	int fd = open(path, O_RDONLY | O_CLOEXEC), status = 0;
	pid_t other;

	if (fd < 0 || fcntl(fd, F_SETLK, &l) < 0)
		return errno;
	other = fork(); /* locks are not inherited */
	if (other == 0) {
		l.l_type = F_WRLCK;
		_exit(fcntl(fd, F_GETLK, &l) < 0 || l.l_type != F_UNLCK);
	}
	if (other < 0 || waitpid(other, &status, 0) < 0)
		return errno;
	return status ? 0 : ENOLCK;
}

/* An allowed call with meaningless arguments returns another errno than these two. */
static int do_nonsense(const char *name)
{
	static const struct {
		const char *name;
		long number;
		long flags; /* second argument: swapon checks it before the privileges */
	} calls[] = {
	    {"init_module", SYS_init_module, -1}, {"kexec_load", SYS_kexec_load, -1},
	    {"reboot", SYS_reboot, -1},		  {"swapon", SYS_swapon, 0},
	    {"pivot_root", SYS_pivot_root, -1},	  {"acct", SYS_acct, -1},
	    {"fsopen", SYS_fsopen, -1},		  {"move_mount", SYS_move_mount, -1},
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0 &&
		    syscall(calls[i].number, -1L, calls[i].flags, -1L, -1L, -1L) < 0)
			return errno == EPERM || errno == ENOSYS ? errno : 0;
	return 0;
}

const struct attempt escape_kernel[] = {
    {"capabilities", do_capabilities, "CapEff"},
    {"capabilities", do_capabilities, "CapPrm"},
    {"capabilities", do_capabilities, "CapBnd"},
    {"new privileges", do_new_privileges, NULL},
    {"mount tmpfs", do_mount, NULL},
    {"remount", do_remount, "/seeds/0"},
    {"remount", do_remount, "/target"},
    {"umount", do_umount, "/seeds/0"},
    {"umount", do_umount, "/proc/kcore"},
    {"chroot", do_chroot, "/tmp"},
    {"mknod", do_mknod, "character 1:1"},
    {"mknod", do_mknod, "block 254:0"},
    {"setuid 0 and write", do_setuid_write, "/usr"},
    {"setuid 0 and write", do_setuid_write, "/seeds/0"},
    {"unshare", do_unshare, "user"},
    {"unshare", do_unshare, "net"},
    {"ptrace PLANTED_PID", do_ptrace, NULL},
    {"kill PLANTED_PID", do_kill, NULL},
    {"process_vm_readv PLANTED_PID", do_read_memory, NULL},
    {"open_by_handle_at", do_handle, NULL},
    {"keyctl", do_keyctl, NULL},
    {"perf_event_open", do_perf, NULL},
    {"userfaultfd", do_userfaultfd, NULL},
    {"io_uring_setup", do_io_uring, NULL},
    {"real-time priority", do_priority, NULL},
    {"nice -10", do_nice, NULL},
    {"raise file-size limit", do_file_limit, NULL},
    {"push to terminal", do_tiocsti, NULL},
    {"lower the score in", do_oom_score, "/proc/self/oom_score_adj"},
    {"lower the score in", do_oom_score, "/proc/1/oom_score_adj"},
    {"huge pages by", do_huge_pages, "mmap"},
    {"huge pages by", do_huge_pages, "memfd_create"},
    {"huge pages by", do_huge_pages, "shmget"},
    {"merge pages by", do_merge_pages, "madvise"},
    {"merge pages by", do_merge_pages, "prctl"},
    {"socket filter by", do_socket_filter, "SO_ATTACH_FILTER"},
    {"socket filter by", do_socket_filter, "SO_LOCK_FILTER"},
    {"own system call filter", do_own_filter, NULL},
    {"inotify on", do_watch, "/usr/bin"},
    {"F_NOTIFY on", do_notify, "/usr/bin"},
    {"lease on", do_lease, "/tmp/planted-lease"},
    {"lock others out of", do_file_lock, "/usr/bin/env"},
    {"lock a record of", do_record_lock, "/usr/bin/env"},
    {"call", do_nonsense, "init_module"},
    {"call", do_nonsense, "kexec_load"},
    {"call", do_nonsense, "reboot"},
    {"call", do_nonsense, "swapon"},
    {"call", do_nonsense, "pivot_root"},
    {"call", do_nonsense, "acct"},
    {"call", do_nonsense, "fsopen"},
    {"call", do_nonsense, "move_mount"},
    {NULL, NULL, NULL},
};
