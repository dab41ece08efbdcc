/* SPDX-License-Identifier: Apache-2.0 */
/* Part of escape_fuzzer: system calls that change the cell itself, or reach over
 * its wall.  Each runs in a child of its own. */
#include "escape.h"
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

/* For calls that answer -1 and errno, or a descriptor that dies with the child. */
static int answer(long r)
{
	return r < 0 ? errno : 0;
}

static int do_mount(const char *arg)
{
	int r;

	(void)arg;
	if (unshare(CLONE_NEWNS) == 0) /* outside a cell: not on the host's table */
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

/* To be root inside is nothing; to write what root owns outside is. */
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
	return n < 0 && errno != EFAULT ? errno : 0; /* EFAULT: it was let in */
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

/* A call that is let through answers something else than these two for
 * arguments that mean nothing. */
static int do_nonsense(const char *name)
{
	static const struct {
		const char *name;
		long number;
		long flags; /* second argument: swapon looks at it before who asks */
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
