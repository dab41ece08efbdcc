/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int reap(pid_t pid)
{
	int ws;

	assert_int_equal(waitpid(pid, &ws, 0), pid);
	return ws;
}

static void no_children(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* Runs the specified program to its end; its output is in out. */
static void output_of(struct proc_spec *spec, int *fd_of_pipe, char *out, size_t n)
{
	struct err e;
	size_t have = 0;
	pid_t pid;
	ssize_t r;
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	*fd_of_pipe = p[1];
	if (proc_spawn(spec, &pid, &e) < 0)
		fail_msg("%s", e.msg);
	close(p[1]);
	while ((r = read(p[0], out + have, n - 1 - have)) > 0)
		have += (size_t)r;
	out[have] = '\0';
	close(p[0]);
	assert_int_equal(reap(pid), 0);
}

static void prints(const char *const *argv, struct proc_spec spec, const char *want)
{
	char out[1024];

	spec.argv = argv;
	output_of(&spec, &spec.stdout_fd, out, sizeof(out));
	assert_string_equal(out, want);
}

static void fails(const char *program, struct proc_spec spec, int want, const char *msg)
{
	const char *const argv[] = {program, NULL};
	pid_t pid = 12345;
	struct err e;

	spec.argv = argv;
	assert_int_equal(proc_spawn(&spec, &pid, &e), want);
	assert_string_equal(e.msg, msg);
	assert_int_equal(pid, 12345);
	no_children();
}

static int no_permission(void *arg)
{
	errno = *(const int *)arg;
	return -1;
}

static void test_exec_fails(void **state)
{
	struct proc_spec spec = PROC_SPEC_INIT;
	int why = EPERM;

	(void)state;
	fails("/no/program", spec, -ENOENT, "start '/no/program': No such file or directory");
	fails("no-such-program", spec, -ENOENT,
	      "start 'no-such-program': No such file or directory");
	fails("/etc/passwd", spec, -EACCES, "start '/etc/passwd': Permission denied");
	spec.prepare = no_permission;
	spec.prepare_arg = &why;
	fails("true", spec, -EPERM, "start 'true': Operation not permitted");
	spec = PROC_SPEC_INIT;
	spec.stdout_fd = 9999;
	fails("true", spec, -EBADF, "start 'true': Bad file descriptor");
}

static void test_path_and_env(void **state)
{
	const char *const env[] = {"A=1", "PATH=/nowhere", NULL};
	struct proc_spec spec = PROC_SPEC_INIT;

	(void)state;
	prints((const char *const[]){"echo", "a b", "*", NULL}, spec, "a b *\n");
	assert_int_equal(setenv("UNIT_TEST", "ours", 1), 0);
	prints((const char *const[]){"printenv", "UNIT_TEST", NULL}, spec, "ours\n");
	spec.env = env;
	prints((const char *const[]){"/usr/bin/env", NULL}, spec, "A=1\nPATH=/nowhere\n");
}

static int keep_fd(void *arg)
{
	return fcntl(*(const int *)arg, F_SETFD, 0);
}

/* The child inherits neither our descriptors nor descriptors that we inherited. */
static void test_descriptors(void **state)
{
	static const char *const list[] = {"/bin/ls", "/proc/self/fd", NULL};
	struct proc_spec spec = PROC_SPEC_INIT;
	_autoclose_ int leaked = -1;

	(void)state;
	leaked = fcntl(STDERR_FILENO, F_DUPFD, 50);
	assert_int_equal(leaked, 50);
	prints(list, spec, "0\n1\n2\n3\n"); /* 3: ls reads the directory */
	spec.prepare = keep_fd;
	spec.prepare_arg = &leaked;
	prints(list, spec, "0\n1\n2\n3\n50\n");
	spec = PROC_SPEC_INIT;
	prints((const char *const[]){"readlink", "/proc/self/fd/0", NULL}, spec, "/dev/null\n");
}

static void test_stdin(void **state)
{
	struct proc_spec spec = PROC_SPEC_INIT;
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_int_equal(write(p[1], "text", 4), 4);
	close(p[1]);
	spec.stdin_fd = p[0];
	prints((const char *const[]){"cat", NULL}, spec, "text");
	close(p[0]);
}

/* Redirections between our own descriptors 0 to 2, where a target is also a source. */
static void test_crossed(void **state)
{
	static const char *const argv[] = {"sh", "-c", "echo out; echo err >&2", NULL};
	struct proc_spec spec = PROC_SPEC_INIT;
	int saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
	char out[64];
	int p[2];
	ssize_t n;
	pid_t pid;
	struct err e;

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	spec.argv = argv;
	spec.stderr_fd = STDOUT_FILENO; /* and stdout to /dev/null */
	assert_int_equal(dup2(p[1], STDOUT_FILENO), STDOUT_FILENO);
	close(p[1]);
	if (proc_spawn(&spec, &pid, &e) < 0)
		pid = -1;
	assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	close(saved);
	assert_true(pid > 0);
	assert_int_equal(reap(pid), 0);
	n = read(p[0], out, sizeof(out));
	assert_int_equal(n, 4);
	assert_memory_equal(out, "err\n", 4);
	assert_int_equal(read(p[0], out, sizeof(out)), 0);
	close(p[0]);
}

static int spawns_with_closed(void)
{
	static const char *const good[] = {"sh", "-c", "echo to no one && readlink /proc/self/fd/0",
					   NULL};
	static const char *const bad[] = {"/no/program", NULL};
	struct proc_spec spec = PROC_SPEC_INIT;
	struct err e;
	pid_t pid;
	int ws;

	close(0);
	close(1);
	close(2);
	spec.argv = bad;
	if (proc_spawn(&spec, &pid, &e) != -ENOENT)
		return 1;
	spec.argv = good;
	if (proc_spawn(&spec, &pid, &e) != 0 || waitpid(pid, &ws, 0) != pid || ws != 0)
		return 2;
	return 0;
}

/* A daemon's parent may have closed descriptors 0 to 2: then our pipe has one of these numbers. */
static void test_closed(void **state)
{
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(spawns_with_closed());
	assert_int_equal(reap(pid), 0);
}

static void test_signals_and_group(void **state)
{
	static const char *const argv[] = {"grep", "SigBlk", "/proc/self/status", NULL};
	struct proc_spec spec = PROC_SPEC_INIT;
	sigset_t set, old;
	struct err e;
	pid_t pid;

	(void)state;
	sigfillset(&set);
	sigdelset(&set, SIGALRM); /* the watchdog */
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, &old), 0);
	prints(argv, spec, "SigBlk:\t0000000000000000\n");
	assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
	spec.argv = argv;
	assert_int_equal(proc_spawn(&spec, &pid, &e), 0);
	assert_int_equal(getpgid(pid), pid);
	assert_int_equal(reap(pid), 0);
}

static void test_kill(void **state)
{
	static const char *const argv[] = {"sleep", "300", NULL};
	struct proc_spec spec = PROC_SPEC_INIT;
	int ws, fd = -1;
	struct err e;
	pid_t pid;

	(void)state;
	spec.argv = argv;
	assert_int_equal(proc_spawn(&spec, &pid, &e), 0);
	assert_int_equal(proc_open(pid, &fd, &e), 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(proc_kill(fd, 0, &e), 0);
	assert_int_equal(proc_kill(fd, SIGTERM, &e), 0);
	ws = reap(pid);
	assert_true(WIFSIGNALED(ws) && WTERMSIG(ws) == SIGTERM);
	assert_int_equal(proc_kill(fd, SIGTERM, &e), -ESRCH);
	assert_string_equal(e.msg, "send signal 15: No such process");
	close(fd);
	assert_int_equal(proc_open(pid, &fd, &e), -ESRCH);
}

/* A child starts a long-running program, and dies. */
static void middle(int fd, bool die_with_us)
{
	static const char *const argv[] = {"sleep", "300", NULL};
	struct proc_spec spec = PROC_SPEC_INIT;
	struct err e;
	pid_t pid;

	spec.argv = argv;
	spec.stdout_fd = fd;
	spec.die_with_us = die_with_us;
	_exit(proc_spawn(&spec, &pid, &e) < 0 ? 1 : 0);
}

static void test_die_with_us(void **state)
{
	struct pollfd end;
	pid_t pid;
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		middle(p[1], true);
	close(p[1]);
	assert_int_equal(reap(pid), 0);
	end = (struct pollfd){.fd = p[0], .events = POLLIN};
	assert_int_equal(poll(&end, 1, 20000), 1); /* its end of the pipe is closed: it is dead */
	assert_true(end.revents & POLLHUP);
	close(p[0]);
}

static void test_faults(void **state)
{
	static const char *const argv[] = {"sleep", "300", NULL};
	static const int want[] = {-EMFILE, -EIO};
	struct proc_spec spec = PROC_SPEC_INIT;

	(void)state;
	spec.argv = argv;
	for (unsigned at = 1; at <= 2; at++) {
		struct err e;
		pid_t pid;

		fault_arm(at, FAULT_FAIL);
		assert_int_equal(proc_spawn(&spec, &pid, &e), want[at - 1]);
		no_children(); /* a child does not outlive its failed start */
	}
	fault_arm(0, FAULT_FAIL);
}

static volatile sig_atomic_t taken_by; /* a thread */

static void take_it(int signo)
{
	(void)signo;
	taken_by = (sig_atomic_t)gettid();
}

static void *waits(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Two threads; only the second does not block the signal. */
static void two_threads(int ready, int go)
{
	struct sigaction sa = {.sa_handler = take_it};
	pthread_t thread;
	sigset_t usr1;
	char byte;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sigaction(SIGUSR1, &sa, NULL) < 0 || pthread_create(&thread, NULL, waits, NULL) != 0)
		_exit(1);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	if (pthread_sigmask(SIG_BLOCK, &usr1, NULL) != 0 || write(ready, "x", 1) != 1 ||
	    read(go, &byte, 1) != 1)
		_exit(2);
	if (taken_by || pthread_sigmask(SIG_UNBLOCK, &usr1, NULL) != 0)
		_exit(3);
	_exit(taken_by == getpid() ? 0 : 4);
}

static void test_kill_first(void **state)
{
	int ready[2], go[2], status;
	struct err e;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		two_threads(ready[1], go[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(proc_kill_first(pid, SIGUSR1, &e), 0);
	assert_int_equal(write(go[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(proc_kill_first(pid, SIGUSR1, &e), -ESRCH);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
}

static void end_there(int signo)
{
	_exit(signo == SIGUSR1 && gettid() != getpid() ? 7 : 1);
}

/* A signal to an ended first thread would stay pending. */
static void test_kill_first_after_its_end(void **state)
{
	struct sigaction sa = {.sa_handler = end_there};
	uint64_t until = clock_mono_us() + 60 * USEC_PER_SEC;
	pthread_t thread;
	pid_t pid = fork(), tid;
	struct err e;
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (sigaction(SIGUSR1, &sa, NULL) < 0 ||
		    pthread_create(&thread, NULL, waits, NULL) != 0)
			_exit(1);
		pthread_exit(NULL);
	}
	do
		assert_int_equal(proc_first_thread(pid, &tid, &e), 0);
	while (tid == pid && clock_mono_us() < until);
	assert_int_not_equal(tid, pid);
	assert_int_equal(proc_kill_first(pid, SIGUSR1, &e), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 7);
}

static void *wait_for_end(void *arg)
{
	char byte;

	(void)!read(*(int *)arg, &byte, 1);
	return arg;
}

static _Atomic pid_t napper;

static void *nap(void *arg)
{
	const struct timespec most = {.tv_sec = 60};

	napper = (pid_t)syscall(SYS_gettid);
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &most, NULL); /* ended by a signal */
	return arg;
}

static void no_action(int signo)
{
	(void)signo;
}

/* Polls, because a thread does not start at once. */
static bool comes_to_nap(pid_t tid, bool want)
{
	for (unsigned ms = 0; ms < 20000; ms++) {
		if (proc_thread_naps(getpid(), tid) == want)
			return true;
		(void)usleep(1000);
	}
	return false;
}

static void test_nap(void **state)
{
	const struct sigaction act = {.sa_handler = no_action};
	pthread_t napping, reading;
	pid_t tid = -1;
	struct err e;
	int go[2];

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &act, NULL), 0);
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pthread_create(&reading, NULL, wait_for_end, &go[0]), 0);
	assert_int_equal(proc_second_thread(getpid(), &tid, &e), 0);
	assert_true(comes_to_nap(tid, false));
	close(go[1]);
	assert_int_equal(pthread_join(reading, NULL), 0);
	assert_true(comes_to_nap(tid, true)); /* the thread is gone: unknown */
	assert_int_equal(pthread_create(&napping, NULL, nap, NULL), 0);
	while (napper == 0)
		(void)usleep(1000);
	assert_true(comes_to_nap(napper, true));
	assert_int_equal(pthread_kill(napping, SIGUSR1), 0);
	assert_int_equal(pthread_join(napping, NULL), 0);
	close(go[0]);
}

static void test_second_thread(void **state)
{
	int go[2];
	pid_t tid = -1, seen = -1;
	pthread_t second, third;
	struct err e;
	char name[64];

	(void)state;
	assert_int_equal(proc_second_thread(getpid(), &tid, &e), -ESRCH);
	assert_int_equal(tid, -1);
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pthread_create(&second, NULL, wait_for_end, &go[0]), 0);
	assert_int_equal(proc_second_thread(getpid(), &seen, &e), 0);
	assert_true(seen > getpid());
	(void)snprintf(name, sizeof(name), "/proc/self/task/%d", (int)seen);
	assert_int_equal(access(name, F_OK), 0);
	assert_int_equal(proc_only_second_thread(getpid(), &tid, &e), 0);
	assert_int_equal(tid, seen);
	assert_int_equal(pthread_create(&third, NULL, wait_for_end, &go[0]), 0);
	assert_int_equal(proc_second_thread(getpid(), &tid, &e), 0);
	assert_int_equal(tid, seen);
	assert_int_equal(proc_only_second_thread(getpid(), &tid, &e), -ESRCH);
	close(go[1]);
	assert_int_equal(pthread_join(second, NULL), 0);
	assert_int_equal(pthread_join(third, NULL), 0);
	close(go[0]);
}

static void test_start_time(void **state)
{
	pid_t pid = fork();
	uint64_t began, again;
	struct err e;
	int fd = -1;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		while (pause() < 0)
			;
	assert_int_equal(proc_start_time(pid, &began, &e), 0);
	assert_int_equal(proc_start_time(getpid(), &again, &e), 0);
	assert_true(began >= again && again > 0);
	assert_int_equal(proc_open_started(pid, began + 1, &fd, &e), -ESRCH); /* another process */
	assert_int_equal(proc_open_started(pid, began, &fd, &e), 0);
	assert_int_equal(proc_kill(fd, SIGKILL, &e), 0);
	close(fd);
	while (proc_start_time(pid, &began, &e) == 0) /* dead, not yet reaped */
		usleep(1000);
	assert_int_equal(e.code, ESRCH);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_open_started(pid, began, &fd, &e), -ESRCH);
	assert_int_equal(proc_start_time(0, &began, &e), -ESRCH);
	assert_int_equal(proc_open_started(-1, 1, &fd, &e), -ESRCH);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_exec_fails),
    cmocka_unit_test(test_path_and_env),
    cmocka_unit_test(test_descriptors),
    cmocka_unit_test(test_stdin),
    cmocka_unit_test(test_crossed),
    cmocka_unit_test(test_closed),
    cmocka_unit_test(test_signals_and_group),
    cmocka_unit_test(test_kill),
    cmocka_unit_test(test_kill_first),
    cmocka_unit_test(test_second_thread),
    cmocka_unit_test(test_nap),
    cmocka_unit_test(test_kill_first_after_its_end),
    cmocka_unit_test(test_die_with_us),
    cmocka_unit_test(test_start_time),
    cmocka_unit_test(test_faults),
};

UNIT_MAIN(tests)
