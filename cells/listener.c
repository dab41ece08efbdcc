/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/listener.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "images/seccomp.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

static void accept_crun(struct listener *l);
static void receive_listener(struct listener *l);
static void listener_answer(struct listener *l);

static void listener_on_event(void *arg, uint32_t events)
{
	struct listener *l = arg;

	/* The last process with this filter has ended. */
	if (l->step == listener_answer && (events & (EPOLLHUP | EPOLLERR)) && !(events & EPOLLIN))
		listener_stop(l);
	else
		l->step(l);
}

static void listener_watch(struct listener *l)
{
	struct err e;

	if (!l->io && loop_add_io(l->loop, l->fd, EPOLLIN, listener_on_event, l, &l->io, &e) < 0)
		listener_stop(l); /* memory is short: the kernel refuses with ENOSYS */
}

/* Continues with step on a new descriptor. */
static void listener_go_on(struct listener *l, int fd, void (*step)(struct listener *l))
{
	source_remove(take_ptr(&l->io));
	close(l->fd);
	l->fd = fd;
	l->step = step;
	listener_watch(l);
}

static void accept_crun(struct listener *l)
{
	int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		listener_go_on(l, fd, receive_listener);
	else if (errno != EAGAIN && errno != EINTR)
		listener_stop(l);
}

/* The message also has the container's state as JSON.  It is ignored: the socket is the cell's
 * own. */
static int receive_fd(int sock)
{
	char state[4096];
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = state, .iov_len = sizeof(state)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	int fd;

	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) < 0)
		return -1;
	c = CMSG_FIRSTHDR(&m);
	errno = EBADMSG;
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void receive_listener(struct listener *l)
{
	int fd = receive_fd(l->fd);

	if (fd >= 0)
		listener_go_on(l, fd, listener_answer);
	else if (errno != EAGAIN && errno != EINTR)
		listener_stop(l); /* crun failed, and reports that itself */
}

static void listener_on_tick(void *arg)
{
	struct listener *l = arg;

	l->answered = 0;
	if (l->fd >= 0)
		listener_watch(l);
}

static void listener_answer(struct listener *l)
{
	struct seccomp_call call;
	uint64_t now = clock_mono_us();
	struct err e;

	if (now - l->tick_at >= LISTENER_TICK_MS * USEC_PER_MSEC) {
		l->tick_at = now;
		l->answered = 0;
	}
	if (++l->answered > LISTENER_PER_TICK &&
	    loop_set_timer(l->timer, l->tick_at + LISTENER_TICK_MS * USEC_PER_MSEC, &e) == 0) {
		source_remove(take_ptr(&l->io));
		return;
	}
	if (seccomp_take(l->fd, &call, &e) < 0)
		return;
	/* Before the answer, while the caller is blocked in its call: a handler of a signal sent
	 * from the callback then sees the input that made the call. */
	l->fn(l->arg, call.name);
	if (l->fd >= 0)
		(void)!seccomp_refuse(l->fd, &call, &e); /* the caller may have died */
}

static int listen_at(int fd, int dirfd, const char *name, struct err *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int n;

	/* This path is short, independent of the length of the directory's path. */
	n = snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", dirfd, name);
	if (n < 0 || (size_t)n >= sizeof(a.sun_path))
		return err_set(e, ENAMETOOLONG, "socket '%s'", name);
	if (bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 1) < 0)
		return err_sys(e, "listen on '%s'", name);
	return 0;
}

int listener_start(struct listener *l, struct loop *loop, int dirfd, const char *name,
		   refused_fn *fn, void *arg, struct err *e)
{
	*l = (struct listener){.loop = loop, .fd = -1, .step = accept_crun, .fn = fn, .arg = arg};
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return err_sys(e, "make a socket");
	if (listen_at(l->fd, dirfd, name, e) < 0 ||
	    loop_add_timer(loop, UINT64_MAX, listener_on_tick, l, &l->timer, e) < 0)
		return err_code(e);
	return loop_add_io(loop, l->fd, EPOLLIN, listener_on_event, l, &l->io, e);
}

void listener_stop(struct listener *l)
{
	source_remove(take_ptr(&l->io));
	source_remove(take_ptr(&l->timer));
	close_p(&l->fd);
}
