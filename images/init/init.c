/* SPDX-License-Identifier: Apache-2.0 */
/* Process 1 of every cell.  It starts the program as often as it is told to, says how it ended, and
 * ends what it leaves.  When fuzzcell is gone it exits, and the cell with it.  The program is
 * hostile and has the same user: process 1 is closed to ptrace(2), and the kernel gives it no
 * signal from inside that it has no handler for.  It is linked statically, since a cell may have
 * any root. */
#include "images/init.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a program inherits from process 1, and the one before it can set there: its system calls
 * are filtered (images/syscalls.inc). */
struct inherited {
	struct rlimit limits[RLIM_NLIMITS];
	cpu_set_t cpus;
};

static void look_at_inherited(struct inherited *ret)
{
	memset(ret, 0, sizeof(*ret)); /* compared as bytes */
	for (int i = 0; i < RLIM_NLIMITS; i++)
		(void)getrlimit((__rlimit_resource_t)i, &ret->limits[i]);
	(void)sched_getaffinity(0, sizeof(ret->cpus), &ret->cpus);
}

static bool has_changed(const struct inherited *before)
{
	struct inherited now;

	look_at_inherited(&now);
	return memcmp(&now, before, sizeof(now)) != 0;
}

static void tell(enum init_word word, int value, bool left)
{
	struct init_message m = {.word = (int32_t)word, .value = value, .left = left};

	if (write(INIT_SOCKET, &m, sizeof(m)) != (ssize_t)sizeof(m))
		_exit(1);
}

static void on_child(int signo)
{
	(void)signo; /* it ends ppoll(2) */
}

/* SIGCHLD comes inside of ppoll(2) alone. */
static int hold_signals(sigset_t *ret_before)
{
	struct sigaction wake = {.sa_handler = on_child};
	sigset_t child;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	return sigaction(SIGCHLD, &wake, NULL) < 0 /* allow: it has no event loop */
		   ? -1
		   : sigprocmask(SIG_BLOCK, &child, ret_before);
}

/* In the child. */
static void __attribute__((noreturn)) execute(char **argv, const sigset_t *signals)
{
	tell(INIT_STARTED, 0, false);
	/* A session of its own: its kill(0) is not for process 1. */
	if (setsid() >= 0 && sigprocmask(SIG_SETMASK, signals, NULL) == 0)
		execvp(argv[0], argv);
	tell(INIT_FAILED, errno, false);
	_exit(127);
}

/* 0: there is none. */
static pid_t start(char **argv, const sigset_t *signals)
{
	pid_t pid = fork();

	if (pid == 0)
		execute(argv, signals);
	if (pid < 0)
		tell(INIT_FAILED, errno, false);
	return pid < 0 ? 0 : pid;
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Until a child may have ended. */
static void sleep_until_child(const sigset_t *signals)
{
	struct pollfd socket = {.fd = INIT_SOCKET}; /* the other end's end is always told */

	if (ppoll(&socket, 1, NULL, signals) > 0 || errno != EINTR)
		_exit(1);
}

/* The program is not reaped: its number stays its own. */
static siginfo_t wait_for(pid_t program, const sigset_t *signals)
{
	siginfo_t is;

	for (;;) {
		memset(&is, 0, sizeof(is));
		if (waitid(P_ALL, 0, &is, WEXITED | WNOWAIT | WNOHANG) < 0)
			_exit(1);
		if (is.si_pid == program)
			return is;
		if (is.si_pid)
			reap(is.si_pid); /* its parent has ended */
		else
			sleep_until_child(signals);
	}
}

static bool is_process(const char *name)
{
	return *name >= '0' && *name <= '9';
}

/* Whether the directory holds more than it may: of /proc only process 1 and the program. */
static bool has_more(const char *path, bool (*counts)(const char *name), unsigned most)
{
	DIR *d = opendir(path); /* allow: it has no library of ours */
	const struct dirent *de;
	unsigned n = 0;

	if (!d)
		return errno != ENOENT;
	while ((de = readdir(d)))
		n += strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0 &&
		     (!counts || counts(de->d_name));
	closedir(d);
	return n > most;
}

/* kill(2) meets each process, also one that is being forked.  Who died is still listed, since only
 * we reap. */
static bool end_rest(void)
{
	(void)kill(-1, SIGKILL); /* allow: all of this cell */
	return has_more("/proc", is_process, 2) || has_more("/tmp", NULL, 0) ||
	       has_more("/dev/shm", NULL, 0);
}

int main(int argc, char **argv)
{
	struct inherited before;
	pid_t program = 0;
	sigset_t signals;
	char byte;

	if (argc < 2 || fcntl(INIT_SOCKET, F_SETFD, FD_CLOEXEC) < 0 || close(INIT_PROGRAM) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0) < 0 || hold_signals(&signals) < 0)
		return 1;
	look_at_inherited(&before);
	while (read(INIT_SOCKET, &byte, 1) == 1) {
		siginfo_t is;
		bool left;

		if (program)
			reap(program);
		program = start(argv + 1, &signals);
		if (!program)
			continue;
		is = wait_for(program, &signals);
		left = end_rest();
		tell(is.si_code == CLD_EXITED ? INIT_EXITED : INIT_KILLED, is.si_status,
		     left || has_changed(&before));
	}
	return 0;
}
