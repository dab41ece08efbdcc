/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/control/server.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/control/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- answers: JSON lines ------------------------------------------------------- */

/* A fresh status answer is shared by all peers. */

/* Answers up to this size are exempt from CONTROL_PENDING_MAX, so errors are always sent. */
enum { ERROR_MAX = 4096 };

static int answer_make(struct control_server *s, const json_t *o, struct control_answer **ret,
		       struct err *e)
{
	_autofree_ char *text = NULL;
	struct control_answer *a;
	int r = json_print(o, 0, &text, e);
	size_t n;

	if (r < 0)
		return r;
	n = strlen(text) + 1;
	if (n > CONTROL_ANSWER_MAX)
		return err_set(e, EMSGSIZE, "the answer is too long: ask for one target");
	if (n > ERROR_MAX && s->pending + n > CONTROL_PENDING_MAX)
		return err_set(e, EBUSY, "too many answers are pending: try again later");
	a = xmalloc(sizeof(*a) + n);
	*a = (struct control_answer){.refs = 1, .n = n};
	memcpy(a->text, text, n - 1);
	a->text[n - 1] = '\n';
	s->pending += n;
	*ret = a;
	return 0;
}

static struct control_answer *answer_error(struct control_server *s, const char *why)
{
	_autojson_ json_t *o = json_pack("{s:b, s:s}", "ok", 0, "error", why);
	struct control_answer *a = NULL;
	struct err ignored;

	/* json_pack() fails if why is not UTF-8. */
	if (!o)
		o = json_pack("{s:b, s:s}", "ok", 0, "error", "the request failed");
	return answer_make(s, o, &a, &ignored) == 0 ? a : NULL;
}

/* NULL is fine */
static void answer_drop(struct control_server *s, struct control_answer *a)
{
	if (!a || --a->refs > 0)
		return;
	s->pending -= a->n;
	free(a);
}

/* {"ok": true} and the members of the callback's object. */
static int answer_ask(struct control_server *s, const struct control_request *q,
		      struct control_answer **ret, struct err *e)
{
	_autojson_ json_t *o = json_pack("{s:b}", "ok", 1);
	_autojson_ json_t *got = NULL;
	int r = s->fn(s->arg, q, &got, e);

	if (r < 0)
		return r;
	if (got)
		json_object_update(o, got);
	return answer_make(s, o, ret, e);
}

static int answer_status(struct control_server *s, const struct control_request *q,
			 struct control_answer **ret, struct err *e)
{
	uint64_t now = clock_mono_us();
	int r = 0;

	if (!s->status || now - s->status_us >= CONTROL_STATUS_FRESH_US) {
		answer_drop(s, s->status);
		s->status = NULL;
		s->status_us = now;
		r = answer_ask(s, q, &s->status, e);
	}
	if (r < 0)
		return r;
	assert(s->status);
	s->status->refs++;
	*ret = s->status;
	return 0;
}

static int answer_request(struct control_server *s, enum control_right right, struct slice line,
			  struct control_answer **ret, struct err *e)
{
	struct control_request q;
	int r = control_request_parse(line, &q, e);

	if (r < 0)
		return r;
	if (q.cmd == CONTROL_STATUS)
		return answer_status(s, &q, ret, e);
	if (!control_only_reads(q.cmd)) {
		if (right != CONTROL_MAY_ALL)
			return err_set(e, EPERM,
				       "permission denied: you may only read, not change the run");
		answer_drop(s, s->status); /* the request changes it */
		s->status = NULL;
	}
	return answer_ask(s, &q, ret, e);
}

/* The answer to a request line; NULL: it cannot be printed. */
static struct control_answer *answer_line(struct control_server *s, enum control_right right,
					  struct slice line)
{
	struct control_answer *a = NULL;
	struct err e;

	return answer_request(s, right, line, &a, &e) < 0 ? answer_error(s, e.msg) : a;
}

/* --- rate limits -------------------------------------------------------------------- */

static void server_on_second(void *arg);

static void server_refill(struct control_server *s)
{
	for (size_t i = 0; i < RATE_COUNT; i++)
		s->left[i] = CONTROL_PER_SECOND_MAX;
}

static void wait_a_second(struct control_server *s)
{
	uint64_t next = clock_mono_us() + USEC_PER_SEC;
	struct err e;
	int r;

	if (s->ticking)
		return;
	if (s->tick)
		r = loop_set_timer(s->tick, next, &e);
	else
		r = loop_add_timer(s->loop, next, server_on_second, s, &s->tick, &e);
	s->ticking = r == 0;
	if (r < 0) /* without the timer, nothing would refill the limits */
		server_refill(s);
}

/* Counts one request or connection against a rate limit.  False: the limit is reached; wait for
 * the next second. */
static bool server_spend(struct control_server *s, enum rate p)
{
	wait_a_second(s);
	if (s->left[p] == 0)
		return false;
	s->left[p]--;
	return true;
}

/* --- a connection: read a line, send its answer, read the next line ------------- */

/* The connection's next step. */
enum next { NEXT_GO, NEXT_READ, NEXT_SEND, NEXT_SECOND, NEXT_END };

/* NULL is fine */
static void conn_free(struct control_conn *c)
{
	if (!c)
		return;
	answer_drop(c->server, c->out);
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
	answer_drop(c->server, c->out);
	c->out = NULL;
	c->sent = 0;
	return NEXT_GO;
}

static struct control_answer *too_long(struct control_conn *c)
{
	char why[80];

	c->closing = true;
	(void)snprintf(why, sizeof(why), "a request has at most %d bytes", CONTROL_LINE_MAX);
	return answer_error(c->server, why);
}

/* Answers the request in the first n bytes, which end with a newline. */
static struct control_answer *answer_next(struct control_conn *c, size_t n)
{
	struct control_answer *a = answer_line(c->server, c->right, (struct slice){c->in, n - 1});

	c->since_us = clock_mono_us();
	memmove(c->in, c->in + n, c->n - n);
	c->n -= n;
	return a;
}

static enum next conn_step(struct control_conn *c)
{
	const char *end = memchr(c->in, '\n', c->n);
	enum rate rate = c->right == CONTROL_MAY_ALL ? RATE_ALL : RATE_READ;

	if (c->out)
		return send_some(c);
	if (c->closing)
		return NEXT_END;
	if (!end && c->n < sizeof(c->in))
		return c->eof ? NEXT_END : NEXT_READ;
	/* The rate limit is shared.  A connection's first request in a second is exempt, so a
	 * flood of requests from other connections does not delay it. */
	if (c->served && !server_spend(c->server, rate))
		return NEXT_SECOND;
	c->served = true;
	c->out = end ? answer_next(c, (size_t)(end - c->in) + 1) : too_long(c);
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
		conn_free(c);
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

static void conn_new(struct control_server *s, size_t place, int take_fd, enum control_right right)
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
		conn_free(c);
	else if (!c->events)
		conn_go_on(c);
}

/* The group may connect; it gets CONTROL_MAY_READ. */
enum { SOCKET_MODE = 0660, BACKLOG = 64 };

/* --- listening --------------------------------------------------------------------- */

static void on_listen(void *arg, uint32_t events);

static void listen_again(struct control_server *s)
{
	struct err e;

	if (!s->listening)
		(void)!loop_add_io(s->loop, s->fd, EPOLLIN, on_listen, s, &s->listening, &e);
}

static void stop_listening(struct control_server *s)
{
	source_remove(s->listening);
	s->listening = NULL;
}

static void server_on_second(void *arg)
{
	struct control_server *s = arg;
	uint64_t now = clock_mono_us();

	s->ticking = false;
	server_refill(s);
	listen_again(s);
	for (size_t i = 0; i < CONTROL_CONNECTIONS_MAX; i++)
		if (s->v[i])
			control_conn_second(s->v[i], now);
	if (s->n > 0 || !s->listening)
		wait_a_second(s); /* to end idle connections */
}

/* --- new connections ---------------------------------------------------------------- */

static size_t server_free_place(const struct control_server *s)
{
	size_t i = 0;

	while (i < CONTROL_CONNECTIONS_MAX && s->v[i])
		i++;
	return i;
}

static size_t server_readers(const struct control_server *s)
{
	size_t n = 0;

	for (size_t i = 0; i < CONTROL_CONNECTIONS_MAX; i++)
		n += s->v[i] && s->v[i]->right != CONTROL_MAY_ALL;
	return n;
}

/* The answer to a refused peer; NULL: the peer may connect. */
static const char *server_refusal(const struct control_server *s, enum control_right right)
{
	if (right == CONTROL_NOTHING)
		return "{\"ok\": false, \"error\": \"permission denied: only root and the state "
		       "directory's owner and group may connect to the run\"}\n";
	if (s->n == CONTROL_CONNECTIONS_MAX ||
	    (right != CONTROL_MAY_ALL && server_readers(s) >= CONTROL_READERS_MAX))
		return "{\"ok\": false, \"error\": \"too many connections: try again later\"}\n";
	return NULL;
}

static void server_accept(struct control_server *s, int *fd)
{
	struct control_peer p;
	enum control_right right;
	const char *no;
	struct err e;

	if (control_peer_of(*fd, &p, &e) < 0)
		return;
	right = control_right_of(&p, &s->owner);
	no = server_refusal(s, right);
	if (no)
		(void)!send(*fd, no, strlen(no),
			    MSG_NOSIGNAL | MSG_DONTWAIT); /* a full buffer loses the message */
	else
		conn_new(s, server_free_place(s), take_fd(fd), right);
}

static void on_listen(void *arg, uint32_t events)
{
	struct control_server *s = arg;
	_autoclose_ int fd = -1;

	(void)events;
	if (!server_spend(s, RATE_ACCEPT)) {
		stop_listening(s);
		return;
	}
	fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		server_accept(s, &fd);
	else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
		stop_listening(s); /* out of descriptors: retry in the next second */
}

/* --- the socket --------------------------------------------------------------------- */

/* Connections are possible only after listen(), when the socket's modes are set. */
static int bind_socket(struct control_server *s, struct err *e)
{
	struct sockaddr_un a;
	socklen_t n = control_address(s->dirfd, &a);

	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return err_sys(e, "make a socket");
	if (sys_unlinkat(s->dirfd, CONTROL_SOCKET, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove an old '%s'", CONTROL_SOCKET);
	if (bind(s->fd, (const struct sockaddr *)&a, n) < 0)
		return err_sys(e, "make '%s'", CONTROL_SOCKET);
	s->bound = true;
	/* Without the permission to change the group, its members cannot connect. */
	(void)!fchownat(s->dirfd, CONTROL_SOCKET, (uid_t)-1, s->owner.gid, AT_SYMLINK_NOFOLLOW);
	if (fchmodat(s->dirfd, CONTROL_SOCKET, SOCKET_MODE, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "set the modes of '%s'", CONTROL_SOCKET);
	return listen(s->fd, BACKLOG) < 0 ? err_sys(e, "listen on '%s'", CONTROL_SOCKET) : 0;
}

int control_server_open(struct loop *l, int state_dirfd, control_answer_fn *fn, void *arg,
			struct control_server **ret, struct err *e)
{
	struct control_server *s = xcalloc(1, sizeof(*s));
	int r;

	*s = (struct control_server){
	    .loop = l, .dirfd = state_dirfd, .fd = -1, .fn = fn, .arg = arg};
	server_refill(s);
	r = control_owner_of(state_dirfd, &s->owner, e);
	if (r == 0)
		r = bind_socket(s, e);
	if (r == 0)
		r = loop_add_io(l, s->fd, EPOLLIN, on_listen, s, &s->listening, e);
	if (r < 0) {
		control_server_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void control_server_close(struct control_server *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < CONTROL_CONNECTIONS_MAX; i++)
		conn_free(s->v[i]);
	answer_drop(s, s->status);
	stop_listening(s);
	source_remove(s->tick);
	/* Without the file, no new connections.  shutdown() notifies the peers. */
	if (s->bound)
		(void)sys_unlinkat(s->dirfd, CONTROL_SOCKET, 0); /* else the next run does it */
	if (s->fd >= 0) {
		(void)shutdown(s->fd, SHUT_RDWR); /* children may still hold it */
		close(s->fd);
	}
	free(s);
}
