/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/scan.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Copies fd to a number above 2, so that no redirection overwrites the source of the next one
 * ("stderr to our stdout"). */
static int proc_aside(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

static int redirect_all(const struct proc_spec *s, int devnull)
{
	int in = proc_aside(s->stdin_fd >= 0 ? s->stdin_fd : devnull);
	int out = proc_aside(s->stdout_fd >= 0 ? s->stdout_fd : devnull);
	int err = proc_aside(s->stderr_fd >= 0 ? s->stderr_fd : STDERR_FILENO);

	if (in < 0 || out < 0 || (err < 0 && s->stderr_fd >= 0))
		return -1;
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		return -1;
	return err >= 0 && dup2(err, STDERR_FILENO) < 0 ? -1 : 0;
}

/* We may have inherited descriptors without close-on-exec. */
static int proc_close_others(void)
{
	if (close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
		return 0;
	return errno == ENOSYS || errno == EINVAL ? 0 : -1; /* Linux before 5.11 */
}

static int child_setup(const struct proc_spec *s, pid_t parent)
{
	int devnull = open("/dev/null", O_RDWR | O_CLOEXEC); /* allow: in the child */
	sigset_t none;

	sigemptyset(&none);
	if (devnull < 0 || redirect_all(s, devnull) < 0 || proc_close_others() < 0)
		return -1;
	if (s->die_with_us && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -1;
	if (s->die_with_us && getppid() != parent)
		_exit(125); /* the parent died before the prctl */
	if (setpgid(0, 0) < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return -1;
	return s->prepare ? s->prepare(s->prepare_arg) : 0;
}

static void __attribute__((noreturn)) child(const struct proc_spec *s, pid_t parent, int report)
{
	char *const *args;
	char *const *env;
	int high = proc_aside(report), why;

	if (high >= 0) /* we may run with 0 to 2 closed, then the pipe is one of them */
		report = high;
	memcpy(&args, &s->argv, sizeof(args)); /* exec(3) promises not to write */
	memcpy(&env, &s->env, sizeof(env));
	if (child_setup(s, parent) == 0) {
		if (s->program_fd >= 0)
			(void)fexecve(s->program_fd, args, s->env ? env : environ);
		if (s->env)
			execvpe(args[0], args, env);
		else
			execvp(args[0], args);
	}
	why = errno;
	if (write(report, &why, sizeof(why)) < 0)
		_exit(126);
	_exit(127);
}

/* vfork(2): nothing of our memory is copied, and we wait until the child executes the program or
 * ends.  It writes to its own stack frames and to errno, and it calls the kernel.  POSIX allows
 * less to the child.  On Linux posix_spawn(3) does the same. */
static __attribute__((noinline)) pid_t proc_start(const struct proc_spec *s, pid_t parent,
						  int report)
{
	pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */

	if (pid == 0)
		child(s, parent, report); /* NOLINT(clang-analyzer-unix.Vfork) */
	return pid;
}

int proc_spawn(const struct proc_spec *spec, pid_t *ret_pid, struct err *e)
{
	_autoclose_ int rd = -1;
	_autoclose_ int wr = -1;
	pid_t parent = getpid();
	int p[2], why = 0;
	pid_t pid;
	ssize_t n;

	if (sys_pipe(p) < 0) /* exec closes it: EOF means success */
		return err_sys(e, "pipe");
	rd = p[0];
	wr = p[1];
	pid = proc_start(spec, parent, wr);
	if (pid < 0)
		return err_sys(e, "fork");
	close_p(&wr);
	n = sys_read(rd, &why, sizeof(why));
	if (n == 0) {
		*ret_pid = pid;
		return 0;
	}
	if (n < 0)
		(void)kill(pid, SIGKILL); /* it may run, but the caller gets an error */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	errno = n == (ssize_t)sizeof(why) ? why : EIO;
	return err_sys(e, "start '%s'", spec->argv[0]);
}

int proc_open(pid_t pid, int *ret_pidfd, struct err *e)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return err_sys(e, "open a pidfd of process %d", (int)pid);
	*ret_pidfd = fd;
	return 0;
}

int proc_kill(int pidfd, int signo, struct err *e)
{
	if (syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0) < 0)
		return err_sys(e, "send signal %d", signo);
	return 0;
}

int proc_kill_first(pid_t pid, int signo, struct err *e)
{
	pid_t tid;
	int r = proc_first_thread(pid, &tid, e);

	if (r == 0 && syscall(SYS_tgkill, pid, tid, signo) < 0)
		return err_sys(e, "send signal %d to the first thread", signo);
	return r;
}

/* *ret_n: the number of threads beside the first one. */
static int proc_list_threads(pid_t pid, pid_t *ret_tid, unsigned *ret_n, struct err *e)
{
	char path[32];
	CLEANUP(closedir_p) DIR *d = NULL;
	const struct dirent *de;
	uint64_t tid, least = UINT64_MAX;

	*ret_n = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = sys_opendirat(AT_FDCWD, path);
	if (!d)
		return err_sys(e, "list '%s'", path);
	/* The kernel assigns ascending numbers, so the smallest number is the oldest thread.
	 * Numbers wrap around only after millions of threads. */
	while ((de = sys_readdir(d))) {
		struct slice name = slice_of(de->d_name);

		if (!scan_u64(&name, 10, INT32_MAX, &tid) || (pid_t)tid == pid)
			continue;
		(*ret_n)++;
		if ((pid_t)tid > pid && tid < least)
			least = tid;
	}
	if (least == UINT64_MAX)
		return err_set(e, ESRCH, "process %d has no second thread", (int)pid);
	*ret_tid = (pid_t)least;
	return 0;
}

int proc_second_thread(pid_t pid, pid_t *ret_tid, struct err *e)
{
	unsigned n;

	return proc_list_threads(pid, ret_tid, &n, e);
}

int proc_only_second_thread(pid_t pid, pid_t *ret_tid, struct err *e)
{
	unsigned n;
	int r = proc_list_threads(pid, ret_tid, &n, e);

	return r == 0 && n > 1 ? err_set(e, ESRCH, "process %d has %u more threads", (int)pid, n)
			       : r;
}

/* On x86-64 also the i386 numbers of nanosleep, clock_nanosleep and clock_nanosleep_time64.  After
 * its thread was stopped or frozen, a sleep continues by restart_syscall(2). */
static bool is_nap(uint64_t call)
{
	static const uint64_t naps[] = {
	    SYS_clock_nanosleep,
	    SYS_nanosleep,
	    SYS_restart_syscall,
#ifdef __x86_64__
	    162,
	    267,
	    407,
#endif
	};

	for (size_t i = 0; i < sizeof(naps) / sizeof(naps[0]); i++)
		if (call == naps[i])
			return true;
	return false;
}

/* The file has "230 0x0 0x0 ..." for a thread blocked in call 230, or "-1 ..." for no call
 * (proc(5)). */
bool proc_thread_naps(pid_t pid, pid_t tid)
{
	char path[48], text[256];
	_autoclose_ int fd = -1;
	struct slice in;
	uint64_t call;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	fd = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
	n = fd < 0 ? -1 : sys_read(fd, text, sizeof(text));
	if (n <= 0)
		return true;
	in = (struct slice){text, (size_t)n};
	return scan_u64(&in, 10, UINT64_MAX, &call) && is_nap(call);
}

/* An ended first thread is a zombie until the last thread ends. */
static bool proc_is_zombie(pid_t pid)
{
	char path[48], text[512];
	_autoclose_ int fd = -1;
	const char *end;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)pid);
	fd = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
	n = fd < 0 ? 0 : sys_read(fd, text, sizeof(text));
	end = n > 0 ? memrchr(text, ')', (size_t)n) : NULL; /* the name may have one, too */
	return end && text + n - end > 2 && end[2] == 'Z';
}

int proc_first_thread(pid_t pid, pid_t *ret_tid, struct err *e)
{
	struct err none;

	*ret_tid = pid;
	if (!proc_is_zombie(pid) || proc_second_thread(pid, ret_tid, &none) == 0)
		return 0;
	return err_set(e, ESRCH, "process %d has ended", (int)pid);
}

/* "PID (NAME) STATE ..." and numbers.  A name may hold any characters, so the last parenthesis
 * counts. */
static bool proc_parse_stat(struct slice s, char *ret_state, uint64_t *ret_start)
{
	enum { BEFORE = 18 }; /* fields between the state and starttime, the 22nd */
	const char *end = memrchr(s.p, ')', s.n);
	struct slice skip;

	if (!end)
		return false;
	s = (struct slice){end + 1, s.n - (size_t)(end + 1 - s.p)};
	scan_blanks(&s);
	if (s.n == 0)
		return false;
	*ret_state = *s.p;
	s.p++;
	s.n--;
	for (unsigned i = 0; i < BEFORE; i++) {
		scan_blanks(&s);
		if (!scan_until(&s, ' ', 32, &skip))
			return false;
	}
	scan_blanks(&s);
	return scan_u64(&s, 10, INT64_MAX, ret_start);
}

int proc_start_time(pid_t pid, uint64_t *ret, struct err *e)
{
	_autofree_ char *text = NULL;
	char path[40], state;
	size_t n;
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	r = pid > 0 ? fs_read(AT_FDCWD, path, 4096, &text, &n, e) : err_set(e, ESRCH, "no process");
	if (r < 0)
		return r == -ENOENT || r == -ESRCH
			   ? err_set(e, ESRCH, "process %d is gone", (int)pid)
			   : r;
	if (!proc_parse_stat((struct slice){text, n}, &state, ret))
		return err_set(e, EPROTO, "'%s' does not have the format of proc_pid_stat(5)",
			       path);
	return state == 'Z' || state == 'X' ? err_set(e, ESRCH, "process %d is dead", (int)pid) : 0;
}

int proc_open_started(pid_t pid, uint64_t start, int *ret_pidfd, struct err *e)
{
	_autoclose_ int fd = -1;
	uint64_t began;
	int r = pid > 0 ? proc_open(pid, &fd, e) : err_set(e, ESRCH, "no process");

	/* Checked after opening the handle: before that, the number could be given to another
	 * process. */
	if (r == 0)
		r = proc_start_time(pid, &began, e);
	if (r == 0 && began != start)
		r = err_set(e, ESRCH, "process %d was replaced by another one", (int)pid);
	if (r == 0)
		*ret_pidfd = take_fd(&fd);
	return r;
}
