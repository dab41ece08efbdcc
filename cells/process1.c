/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of a cell's process 1 about the program that it runs. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc.h"
#include "base/sys.h"
#include "cells/crun.h"
#include "cells/internal.h"
#include "images/init.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* How long after the program's end the message of process 1 may take; usually it comes at once. */
#define REPORT_MAX_US (10 * USEC_PER_SEC)

void cell_not_started(struct cell *c, const char *why)
{
	c->end.how = CELL_NOT_STARTED;
	c->end.code = 0;
	(void)snprintf(c->end.why, sizeof(c->end.why), "%.399s", why);
}

void cell_job_drop(struct cell *c)
{
	source_remove(take_ptr(&c->job.exit));
	close_p(&c->job.fd);
	c->job.pid = 0;
}

void cell_process1_disconnect(struct cell *c)
{
	source_remove(take_ptr(&c->process1.io));
	source_remove(take_ptr(&c->process1.late));
	close_p(&c->process1.socket);
}

/* If the timer cannot be set, the cell's deadline ends the cell. */
static void expect_report_by(struct cell *c, uint64_t at_us)
{
	struct err e;

	if (c->process1.late)
		(void)!loop_set_timer(c->process1.late, at_us, &e);
}

/* Process 1 may be frozen.  It is thawed here, so that it can report the end. */
static void on_job_exit(void *arg, uint32_t events)
{
	struct cell *c = arg;

	(void)events;
	source_remove(take_ptr(&c->job.exit));
	cell_memory_end(c);
	expect_report_by(c, clock_mono_us() + REPORT_MAX_US);
}

/* The message is missing in two cases: another process of the cell traces the program, and the
 * kernel reports the end to the tracer, or process 1 was stopped from outside.  In both cases the
 * cell is killed. */
static void on_report_late(void *arg)
{
	struct cell *c = arg;
	struct err e;

	cell_process1_read(c);
	if (!c->job.ended && !c->job.exit)
		(void)!cell_kill(c, &e); /* if that fails, the deadline ends the cell */
}

static void on_started(struct cell *c, pid_t pid)
{
	struct err e;
	int r;

	if (c->init_gone) /* the number may have been reused */
		return;
	r = proc_open(pid, &c->job.fd, &e);

	c->job.pid = r == 0 ? pid : 0;
	if (r == 0)
		r = loop_add_io(c->host->loop, c->job.fd, EPOLLIN, on_job_exit, c, &c->job.exit,
				&e);
	for (int signo = 1; r == 0 && signo <= 64; signo++)
		if (c->job.pending & UINT64_C(1) << (signo - 1))
			r = proc_kill(c->job.fd, signo, &e);
	c->job.pending = 0;
	if (r < 0 && r != -ESRCH) { /* without a pidfd the program cannot be stopped gracefully */
		cell_not_started(c, e.msg);
		c->job.ended = true;
		(void)!cell_kill(c, &e); /* if that fails, closing the socket ends process 1 */
		cell_process1_disconnect(c);
	}
}

static void cell_process1_on_ended(struct cell *c, const struct init_message *m)
{
	cell_job_drop(c);
	output_drain(&c->out);
	if (!c->job.ended) {
		c->end.how = m->event == INIT_EXITED ? CELL_EXITED : CELL_SIGNALED;
		c->end.code = m->value;
	}
	c->job.ended = true;
	c->job.left = m->left || c->mark.met;
	expect_report_by(c, UINT64_MAX);
	if (!c->stays || c->end.how == CELL_NOT_STARTED)
		cell_process1_disconnect(c);
	else
		cell_process1_report(c);
}

static void cell_process1_on_failed(struct cell *c, int why)
{
	char text[400];

	(void)snprintf(text, sizeof(text), "execute '%.300s': %s", c->program, strerror(why));
	cell_not_started(c, text);
	c->job.ended = true;
	cell_process1_disconnect(c);
}

void cell_process1_report(struct cell *c)
{
	if (c->state == RUNNING && c->stays && c->job.ended && c->ops.exited)
		c->ops.exited(c->arg, &c->end, c->job.left);
}

static void on_message(struct cell *c, const struct init_message *m, pid_t sender)
{
	switch (m->event) {
	case INIT_STARTED:
		if (sender > 0)
			on_started(c, sender);
		break;
	case INIT_FAILED:
		cell_process1_on_failed(c, m->value);
		break;
	case INIT_EXITED:
	case INIT_KILLED:
		cell_process1_on_ended(c, m);
		break;
	default: /* not ours */
		break;
	}
}

/* The sender's process number in our namespace, from the kernel; 0: the message has none. */
static pid_t cell_process1_sender_of(struct msghdr *h)
{
	struct ucred sender = {0};

	for (struct cmsghdr *m = CMSG_FIRSTHDR(h); m; m = CMSG_NXTHDR(h, m))
		if (m->cmsg_level == SOL_SOCKET && m->cmsg_type == SCM_CREDENTIALS)
			memcpy(&sender, CMSG_DATA(m), sizeof(sender));
	return sender.pid;
}

/* False: no message was waiting. */
static bool cell_process1_read_one(struct cell *c)
{
	struct init_message m;
	struct iovec iov = {&m, sizeof(m)};
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(struct ucred))];
	struct msghdr h = {
	    .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	ssize_t n;

	do
		n = recvmsg(c->process1.socket, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(m))
		on_message(c, &m, cell_process1_sender_of(&h));
	else if (n == 0 || (n < 0 && errno != EAGAIN)) /* process 1 is gone */
		cell_process1_disconnect(c);
	return n > 0;
}

void cell_process1_read(struct cell *c)
{
	while (c->process1.socket >= 0 && cell_process1_read_one(c))
		;
}

static void cell_process1_on_io(void *arg, uint32_t events)
{
	(void)events;
	cell_process1_read(arg);
}

/* fds: standard input and output; NULL: none. */
static int cell_process1_ask(struct cell *c, const int *fds, struct err *e)
{
	struct init_request request = {.cpu = c->cpu};
	struct iovec iov = {&request, sizeof(request)};
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))] = {0};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *m;

	if (fds) {
		h.msg_control = room;
		h.msg_controllen = sizeof(room);
		m = CMSG_FIRSTHDR(&h);
		m->cmsg_level = SOL_SOCKET;
		m->cmsg_type = SCM_RIGHTS;
		m->cmsg_len = CMSG_LEN(2 * sizeof(int));
		memcpy(CMSG_DATA(m), fds, 2 * sizeof(int));
	}
	if (sendmsg(c->process1.socket, &h, MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    (ssize_t)sizeof(request))
		return err_sys(e, "ask process 1 of cell '%s'", c->id);
	return 0;
}

int cell_process1_connect(struct cell *c, int *ret_end, struct err *e)
{
	static const int on = 1;
	int s[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s) < 0)
		return err_sys(e, "make a pair of sockets");
	c->process1.socket = s[0];
	*ret_end = s[1];
	if (setsockopt(s[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return err_sys(e, "ask for the sender's number");
	if (loop_add_io(c->host->loop, s[0], EPOLLIN, cell_process1_on_io, c, &c->process1.io, e) <
		0 ||
	    loop_add_timer(c->host->loop, UINT64_MAX, on_report_late, c, &c->process1.late, e) < 0)
		return err_code(e);
	return cell_process1_ask(c, NULL, e);
}

/* Like crun, which does this for the first program's streams. */
static int cell_process1_give(const struct cell *c, int fd, struct err *e)
{
	return fchown(fd, c->uid, c->gid) < 0 ? err_sys(e, "give a pipe to the cell's user") : 0;
}

static int ask_with_streams(struct cell *c, struct err *e)
{
	_autoclose_ int in = -1;
	_autoclose_ int out = -1;
	int p[2], r = crun_open_input(&in, e);

	if (r < 0)
		return r;
	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe");
	out = p[1];
	output_stop(&c->out);
	r = output_start(&c->out, c->host->loop, p[0], c->host->output_bytes_per_s, c->host->room,
			 c->out.fn, c->out.arg, e);
	if (r < 0 || cell_process1_give(c, in, e) < 0 || cell_process1_give(c, out, e) < 0)
		return err_code(e);
	return cell_process1_ask(c, (const int[]){in, out}, e);
}

int cell_again(struct cell *c, struct err *e)
{
	if (c->state != RUNNING || !c->stays || !c->job.ended || c->job.left ||
	    c->process1.socket < 0)
		return err_set(e, EBUSY, "cell '%s' cannot run its program again", c->id);
	c->job.ended = false;
	c->mark.met = false;
	c->end = (struct cell_end){0};
	return ask_with_streams(c, e);
}
