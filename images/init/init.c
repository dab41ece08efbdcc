/* SPDX-License-Identifier: Apache-2.0 */
/* Process 1 of every cell.  It starts the program at each request of fuzzcell, reports how the
 * program ended, and ends the remaining processes.  When fuzzcell is gone, it exits, which ends the
 * cell.
 *
 * The program is hostile and has the same user.  So process 1 does not allow ptrace(2).  The kernel
 * drops signals from inside the cell for which process 1 has no handler.  It is linked statically,
 * because a cell may have any root. */
#include "images/init.h"
#include "images/init/each.h"
#include "images/init/nest.h"

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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The state that one program can change for the next one.  The system call filter prevents all
 * other changes (images/syscalls.inc). */
struct snapshot {
	struct rlimit limits[RLIM_NLIMITS]; /* of process 1 */
	cpu_set_t cpus;
	struct {
		uint64_t mode, uid, gid, links, bytes;
		struct timespec read, written, changed;
	} dirs[2];
};

static const char *const dirs[] = {"/tmp", "/dev/shm"};

/* The result is compared as bytes, so it is zeroed first. */
static void init_snapshot(struct snapshot *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < RLIM_NLIMITS; i++)
		(void)getrlimit((__rlimit_resource_t)i, &ret->limits[i]);
	(void)sched_getaffinity(0, sizeof(ret->cpus), &ret->cpus);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		struct stat st = {0};

		(void)stat(dirs[i], &st);
		ret->dirs[i].mode = st.st_mode;
		ret->dirs[i].uid = st.st_uid;
		ret->dirs[i].gid = st.st_gid;
		ret->dirs[i].links = st.st_nlink;
		ret->dirs[i].bytes = (uint64_t)st.st_size;
		ret->dirs[i].read = st.st_atim;
		ret->dirs[i].written = st.st_mtim;
		ret->dirs[i].changed = st.st_ctim;
	}
}

static void init_report(enum init_event event, int value, bool left)
{
	struct init_message m = {.event = (int32_t)event, .value = value, .left = left};

	if (write(INIT_SOCKET, &m, sizeof(m)) != (ssize_t)sizeof(m))
		_exit(1);
}

static void init_on_child(int signo)
{
	(void)signo; /* it ends ppoll(2) */
}

/* Blocks SIGCHLD, which is then delivered only inside ppoll(2). */
static int hold_signals(sigset_t *ret_before)
{
	struct sigaction wake = {.sa_handler = init_on_child};
	sigset_t child;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	return sigaction(SIGCHLD, &wake, NULL) < 0 /* allow: it has no event loop */
		   ? -1
		   : sigprocmask(SIG_BLOCK, &child, ret_before);
}

/* Each program gets new pipes: the previous program may have changed the flags, size, mode and
 * content of its own. */
static bool take_streams(const int fds[2])
{
	return fds[0] < 0 || (dup2(fds[0], STDIN_FILENO) >= 0 && dup2(fds[1], STDOUT_FILENO) >= 0 &&
			      dup2(fds[1], STDERR_FILENO) >= 0);
}

/* With a path, a file that is no program is not passed to a shell; execvp(3) would do that. */
static void init_run(char **argv)
{
	if (strcmp(argv[0], INIT_EACH) == 0)
		each_main(argv);
	if (strchr(argv[0], '/'))
		execv(argv[0], argv);
	else
		execvp(argv[0], argv);
}

/* For the speed alone: where it fails, the program has every CPU. */
static void use_cpu(int cpu)
{
	cpu_set_t one;

	if (cpu < 0)
		return;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

/* What process 1 was asked. */
struct order {
	struct init_request request;
	int fds[2]; /* standard input and output; -1: those of process 1 */
};

/* Runs in the child. */
static void __attribute__((noreturn))
execute(char **argv, const struct order *o, const sigset_t *signals)
{
	init_report(INIT_STARTED, 0, false);
	use_cpu(o->request.cpu);
	/* Its own session, so that its kill(0) does not reach process 1. */
	if (setsid() >= 0 && sigprocmask(SIG_SETMASK, signals, NULL) == 0 && take_streams(o->fds)) {
		if (strcmp(argv[0], INIT_NEST) == 0)
			argv = nest_make(argv);
		if (!argv)
			_exit(EACH_FAILED);
		init_run(argv);
	}
	init_report(INIT_FAILED, errno, false);
	_exit(127);
}

/* Returns 0 if there is no process. */
static pid_t init_start(char **argv, const struct order *o, const sigset_t *signals)
{
	pid_t pid = fork();

	if (pid == 0)
		execute(argv, o, signals);
	for (int i = 0; i < 2; i++)
		if (o->fds[i] >= 0)
			close(o->fds[i]);
	if (pid < 0)
		init_report(INIT_FAILED, errno, false);
	return pid < 0 ? 0 : pid;
}

static void init_reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Returns when a child may have ended. */
static void sleep_until_child(const sigset_t *signals)
{
	struct pollfd socket = {.fd = INIT_SOCKET}; /* a closed other end is always reported */

	if (ppoll(&socket, 1, NULL, signals) > 0 || errno != EINTR) /* allow: no loop */
		_exit(1);
}

/* Waits for the program's end without reaping it, so that its number is not reused. */
static siginfo_t init_wait_for(pid_t program, const sigset_t *signals)
{
	siginfo_t is;

	for (;;) {
		memset(&is, 0, sizeof(is));
		if (waitid(P_ALL, 0, &is, WEXITED | WNOWAIT | WNOHANG) < 0)
			_exit(1);
		if (is.si_pid == program)
			return is;
		if (is.si_pid)
			init_reap(is.si_pid); /* an orphan that became our child */
		else
			sleep_until_child(signals);
	}
}

static bool init_is_empty(const char *path)
{
	DIR *d = opendir(path); /* allow: it has no library of ours */
	const struct dirent *de;
	bool empty = true;

	if (!d)
		return errno == ENOENT;
	errno = 0;
	while (empty && (de = readdir(d)))
		empty = strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0;
	empty = empty && errno == 0;
	closedir(d);
	return empty;
}

/* Reaps all ended processes except the program.  Returns whether no other process is left. */
static bool are_reaped(pid_t program)
{
	DIR *d = opendir("/proc"); /* allow: as above */
	const struct dirent *de;
	bool all = d != NULL;

	errno = 0;
	while (d && (de = readdir(d))) {
		long pid = strtol(de->d_name, NULL, 10); /* allow: /proc's; 0: another name */

		if (pid > 1 && pid != program && waitpid((pid_t)pid, NULL, WNOHANG) != (pid_t)pid)
			all = false;
		errno = 0;
	}
	if (d)
		closedir(d);
	return all && errno == 0;
}

/* Waits up to 20 ms for processes that end by themselves, such as a symbolizer, and kills the rest.
 * kill(2) also reaches a process that is being forked. */
static bool end_processes(pid_t program)
{
	const struct timespec moment = {.tv_nsec = 2000000};
	bool ended = are_reaped(program);

	for (unsigned i = 0; !ended && i < 10; i++) {
		(void)nanosleep(&moment, NULL); /* allow: it has no event loop */
		ended = are_reaped(program);
	}
	if (!ended)
		(void)kill(-1, SIGKILL); /* allow: all of this cell */
	return ended;
}

/* Whether no segment of System V shared memory is left.  The first line names the columns. */
static bool init_shares_nothing(void)
{
	char text[512];
	int fd = open("/proc/sysvipc/shm", O_RDONLY | O_CLOEXEC); /* allow: as above */
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));
	const char *line = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;

	if (fd < 0)
		return errno == ENOENT;
	close(fd);
	return line && line + 1 == text + n;
}

static bool is_as_before(const struct snapshot *before)
{
	struct snapshot now;
	bool same;

	init_snapshot(&now);
	same = memcmp(&now, before, sizeof(now)) == 0 && init_shares_nothing();
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		same = init_is_empty(dirs[i]) && same;
	return same;
}

/* Waits for a message.  Returns false at the end of the socket. */
static bool init_receive(struct order *ret)
{
	struct iovec iov = {&ret->request, sizeof(ret->request)};
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))];
	struct msghdr h = {
	    .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	const struct cmsghdr *m;

	ret->fds[0] = ret->fds[1] = -1;
	if (recvmsg(INIT_SOCKET, &h, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(ret->request))
		return false;
	m = CMSG_FIRSTHDR(&h);
	if (m && m->cmsg_type == SCM_RIGHTS && m->cmsg_len == CMSG_LEN(2 * sizeof(int)))
		memcpy(ret->fds, CMSG_DATA(m), sizeof(ret->fds));
	return true;
}

int main(int argc, char **argv)
{
	struct snapshot before;
	pid_t program = 0;
	struct order order;
	sigset_t signals;

	if (argc < 2 || fcntl(INIT_SOCKET, F_SETFD, FD_CLOEXEC) < 0 || close(INIT_PROGRAM) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0) < 0 || hold_signals(&signals) < 0)
		return 1;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		(void)init_is_empty(
		    dirs[i]); /* only the first listing changes the time of access */
	init_snapshot(&before);
	while (init_receive(&order)) {
		siginfo_t is;
		bool clean;

		if (program)
			init_reap(program);
		program = init_start(argv + 1, &order, &signals);
		if (!program)
			continue;
		is = init_wait_for(program, &signals);
		clean = end_processes(program);
		clean = is_as_before(&before) && clean;
		init_report(is.si_code == CLD_EXITED ? INIT_EXITED : INIT_KILLED, is.si_status,
			    !clean);
	}
	return 0;
}
