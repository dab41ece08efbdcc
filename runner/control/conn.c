/* SPDX-License-Identifier: Apache-2.0 */
/* One connection: read a line, send its answer, read the next line. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/control/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* The connection's next step. */
enum next { NEXT_GO, NEXT_READ, NEXT_SEND, NEXT_SECOND, NEXT_END };

void control_conn_free(struct control_conn *c)
{
	if (!c)
		return;
	control_answer_drop(c->server, c->out);
	source_remove(c->io);
	c->server->v[c->place] = NULL;
	c->server->n--;
	(void)shutdown(c->fd, SHUT_RDWR); /* a child process may still hold the descriptor */
	close(c->fd);
	free(c);
}

static enum next send_some(struct control_conn *c)
{
	ssize_t n = send(c->fd, c->out->text + c->sent, c->out->n - c->sent, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? NEXT_SEND : NEXT_END;
	c->sent += (size_t)n;
	c->since_us = clock_mono_us();
	if (c->sent < c->out->n)
		return NEXT_SEND;
	control_answer_drop(c->server, c->out);
	c->out = NULL;
	c->sent = 0;
	return NEXT_GO;
}

static struct control_answer *too_long(struct control_conn *c)
{
	char why[80];

	c->closing = true;
	(void)snprintf(why, sizeof(why), "a request has at most %d bytes", CONTROL_LINE_MAX);
	return control_answer_error(c->server, why);
}

/* Answers the request in the first n bytes, which end with a newline. */
static struct control_answer *answer_line(struct control_conn *c, size_t n)
{
	struct control_answer *a =
	    control_answer_to(c->server, c->right, (struct slice){c->in, n - 1});

	c->since_us = clock_mono_us();
	memmove(c->in, c->in + n, c->n - n);
	c->n -= n;
	return a;
}

static enum next conn_step(struct control_conn *c)
{
	const char *end = memchr(c->in, '\n', c->n);
	enum purse purse = c->right == CONTROL_MAY_ALL ? PURSE_ALL : PURSE_LOOK;

	if (c->out)
		return send_some(c);
	if (c->closing)
		return NEXT_END;
	if (!end && c->n < sizeof(c->in))
		return c->eof ? NEXT_END : NEXT_READ;
	/* The rate limit is shared.  A connection's first request in a second is exempt, so a
	 * flood of requests from other connections does not delay it. */
	if (c->served && !control_server_spend(c->server, purse))
		return NEXT_SECOND;
	c->served = true;
	c->out = end ? answer_line(c, (size_t)(end - c->in) + 1) : too_long(c);
	return c->out ? NEXT_GO : NEXT_END;
}

static void conn_on_io(void *arg, uint32_t events);

/* events 0: waits for the next second, without a source.  epoll always reports EPOLLHUP, so a
 * source would fire all the time. */
static bool conn_wait_for(struct control_conn *c, uint32_t events)
{
	struct err e;

	if (c->events == events)
		return true;
	source_remove(c->io);
	c->io = NULL;
	c->events = events;
	return !events ||
	       loop_add_io(c->server->loop, c->fd, events, conn_on_io, c, &c->io, &e) == 0;
}

static void conn_go_on(struct control_conn *c)
{
	static const uint32_t events[] = {
	    [NEXT_READ] = EPOLLIN, [NEXT_SEND] = EPOLLOUT, [NEXT_SECOND] = 0};
	enum next n = NEXT_GO;

	while (n == NEXT_GO)
		n = conn_step(c);
	if (n == NEXT_END || !conn_wait_for(c, events[n]))
		control_conn_free(c);
}

static void conn_on_io(void *arg, uint32_t events)
{
	struct control_conn *c = arg;
	ssize_t n;

	if (c->events == EPOLLIN) {
		n = sys_read(c->fd, c->in + c->n, sizeof(c->in) - c->n);
		if (n > 0)
			c->n += (size_t)n;
		else if (n == 0 || errno != EAGAIN)
			c->eof = true;
	}
	(void)events;
	conn_go_on(c);
}

void control_conn_new(struct control_server *s, size_t place, int take_fd, enum control_right right)
{
	struct control_conn *c = xmalloc(sizeof(*c));

	*c = (struct control_conn){
	    .server = s,
	    .place = place,
	    .fd = take_fd,
	    .right = right,
	    .since_us = clock_mono_us(),
	};
	s->v[place] = c;
	s->n++;
	conn_go_on(c);
}

void control_conn_second(struct control_conn *c, uint64_t now_us)
{
	uint64_t most = c->out ? CONTROL_STUCK_US : CONTROL_IDLE_US;

	c->served = false;
	if (now_us - c->since_us >= most)
		control_conn_free(c);
	else if (!c->events)
		conn_go_on(c);
}
