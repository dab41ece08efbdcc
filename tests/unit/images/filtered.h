/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_IMAGES_FILTERED_H
#define TESTS_IMAGES_FILTERED_H

/* Makes system calls behind the filter of a cell.  Each call runs in its own child, with a listener
 * that refuses all calls that reach it.  Include unit.h first. */
#include "base/cleanup.h"
#include "images/seccomp.h"
#include "tests/targets/send_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct attempt {
	const char *what;
	long (*call)(void);
	int want;	      /* errno; 0: allowed; ANY: allowed, but may fail for another reason */
	const char *reported; /* name that the listener reports; NULL: none */
};

enum { ANY = -1 };

static inline int load(const uint8_t *program, size_t n, unsigned flags)
{
	struct sock_fprog p = {.len = (unsigned short)(n / sizeof(struct sock_filter))};

	memcpy(&p.filter, &(const void *){program}, sizeof(p.filter));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p);
}

static inline int receive_fd(int sock)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	const struct cmsghdr *c;
	int fd = -1;

	assert_int_equal(recvmsg(sock, &m, MSG_CMSG_CLOEXEC), 1);
	c = CMSG_FIRSTHDR(&m);
	assert_non_null(c);
	if (c) /* for the compiler, which does not know that c ends above */
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* A child must not continue as a second test program: cmocka catches these signals, and jumps. */
static inline void die_of_faults(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS};
	struct sigaction a = {.sa_handler = SIG_DFL};

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		(void)sigaction(faults[i], &a, NULL);
}

/* True if this kernel has the call, without a filter. */
static inline bool kernel_has(const struct attempt *a)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		die_of_faults();
		(void)!a->call();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status);
}

static inline void __attribute__((noreturn))
child(int sock, const uint8_t *program, size_t n, const struct attempt *a)
{
	int fd = load(program, n, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	long r;

	die_of_faults();
	if (fd < 0)
		_exit(98);
	if (send_fd(sock, fd, 0) < 0)
		_exit(99);
	close(fd);
	errno = 0;
	r = a->call();
	_exit(r < 0 ? errno : 0);
}

/* Answers all calls until the child ends; reported: the last name. */
static inline void serve(int listener, char reported[SECCOMP_NAME_MAX])
{
	struct pollfd p = {.fd = listener, .events = POLLIN};
	struct seccomp_call call;
	struct err e;

	reported[0] = '\0';
	while (poll(&p, 1, -1) == 1 && !(p.revents & POLLHUP)) {
		if (!(p.revents & POLLIN))
			continue;
		assert_int_equal(seccomp_take(listener, &call, &e), 0);
		assert_int_equal(seccomp_refuse(listener, &call, &e), 0);
		memcpy(reported, call.name, sizeof(call.name));
	}
}

static inline void try_one(const uint8_t *program, size_t n, const struct attempt *a)
{
	char reported[SECCOMP_NAME_MAX];
	int sock[2], status;
	_autoclose_ int listener = -1;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock), 0);
	pid = fork();
	if (pid == 0)
		child(sock[1], program, n, a);
	listener = receive_fd(sock[0]);
	close(sock[0]);
	close(sock[1]);
	serve(listener, reported);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status))
		fail_msg("%s: status %#x", a->what, (unsigned)status);
	if (a->want != ANY && WEXITSTATUS(status) != a->want)
		fail_msg("%s: errno %d, not %d", a->what, WEXITSTATUS(status), a->want);
	if (a->want == ANY)
		assert_int_not_equal(WEXITSTATUS(status), 0);
	if (strcmp(reported, a->reported ? a->reported : "") != 0)
		fail_msg("%s: reported as '%s'", a->what, reported);
}

static inline void try_all_as(enum cell_profile profile, const struct attempt *all, size_t n_all)
{
	_autofree_ uint8_t *program = NULL;
	struct err e;
	size_t n;

	assert_int_equal(seccomp_compile(profile, &program, &n, &e), 0);
	assert_int_equal(n % sizeof(struct sock_filter), 0);
	for (size_t i = 0; i < n_all; i++)
		try_one(program, n, &all[i]);
}

static inline void try_all(const struct attempt *all, size_t n_all)
{
	try_all_as(CELL_ENGINE, all, n_all);
}

#endif
