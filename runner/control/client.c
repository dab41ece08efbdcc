/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/control/client.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNK = 65536 };

static int client_late(struct err *e)
{
	return err_set(e, ETIMEDOUT, "the run does not answer (is its process stopped?)");
}

static int set_timeout(int fd, int option, uint64_t until_us, struct err *e)
{
	uint64_t now = clock_mono_us(), left = until_us > now ? until_us - now : 0;
	struct timeval t = {.tv_sec = (time_t)(left / USEC_PER_SEC),
			    .tv_usec = (suseconds_t)(left % USEC_PER_SEC)};

	if (left == 0) /* 0 means no timeout to setsockopt() */
		return client_late(e);
	return setsockopt(fd, SOL_SOCKET, option, &t, sizeof(t)) < 0
		   ? err_sys(e, "set the timeout of the connection to the run")
		   : 0;
}

/* A killed run leaves its socket behind, without a listener: ECONNREFUSED. */
static int connect_error(struct err *e)
{
	if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTSOCK)
		return err_set(e, ENOENT, "no run is active here");
	if (errno == EACCES || errno == EPERM)
		return err_set(e, EACCES,
			       "permission denied: only root and the state directory's owner and "
			       "group may connect to the run");
	if (errno == EAGAIN || errno == EINPROGRESS)
		return client_late(e);
	return err_sys(e, "connect to '%s'", CONTROL_SOCKET);
}

static int open_connection(int state_dirfd, uint64_t until_us, int *ret, struct err *e)
{
	_autoclose_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un a;
	socklen_t n = control_address(state_dirfd, &a);
	int r = fd < 0 ? err_sys(e, "make a socket") : set_timeout(fd, SO_SNDTIMEO, until_us, e);

	if (r < 0)
		return r;
	if (connect(fd, (const struct sockaddr *)&a, n) < 0)
		return connect_error(e);
	*ret = take_fd(&fd);
	return 0;
}

static int client_send(int fd, const struct control_request *q, struct err *e)
{
	_autojson_ json_t *o = NULL;
	_autofree_ char *text = NULL;
	_autofree_ char *line = NULL;
	int r = control_request_json(q, &o, e);

	if (r == 0)
		r = json_print(o, 0, &text, e);
	if (r < 0)
		return r;
	line = xasprintf("%s\n", text);
	/* A request fits into the socket's buffer, so send() takes all of it.  EPIPE: the server
	 * closed the connection, but its refusal may be readable. */
	if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
		return errno == EAGAIN ? client_late(e) : err_sys(e, "ask the run");
	return 0;
}

/* Reads once.  1: the line is complete; its newline is not kept. */
static int client_receive_some(int fd, char *chunk, struct buf *answer, struct err *e)
{
	ssize_t n = sys_read(fd, chunk, CHUNK);
	const char *end;

	if (n < 0 && errno == EAGAIN)
		return client_late(e);
	if (n < 0 && errno != ECONNRESET)
		return err_sys(e, "read the run's answer");
	if (n <= 0)
		return err_set(e, EPROTO, "the run closed the connection without an answer");
	end = memchr(chunk, '\n', (size_t)n);
	buf_put(answer, (struct slice){chunk, (size_t)(end ? end - chunk : n)});
	if (buf_check(answer, e) < 0)
		return err_set(e, EPROTO, "the run's answer is too long");
	return end ? 1 : 0;
}

/* Reads one line. */
static int client_receive(int fd, uint64_t until_us, struct buf *answer, struct err *e)
{
	_autofree_ char *chunk = xmalloc(CHUNK);
	int r = 0;

	while (r == 0) {
		r = set_timeout(fd, SO_RCVTIMEO, until_us, e);
		if (r == 0)
			r = client_receive_some(fd, chunk, answer, e);
	}
	return r < 0 ? r : 0;
}

static int client_judge(json_t *o, json_t **ret, struct err *e)
{
	const char *why = json_string_value(json_object_get(o, "error"));

	if (json_is_true(json_object_get(o, "ok"))) {
		*ret = json_incref(o);
		return 0;
	}
	if (!json_is_false(json_object_get(o, "ok")) || !why)
		return err_set(e, EPROTO, "the run's answer is malformed");
	return err_set(e, EREMOTEIO, "%s", why);
}

int control_ask(int state_dirfd, const struct control_request *q, uint64_t timeout_us, json_t **ret,
		struct err *e)
{
	_autobuf_ struct buf answer = BUF_INIT(CONTROL_ANSWER_MAX + 1);
	_autojson_ json_t *o = NULL;
	_autoclose_ int fd = -1;
	uint64_t until = clock_mono_us() + timeout_us;
	struct err ignored;
	int r = open_connection(state_dirfd, until, &fd, e);

	if (r == 0)
		r = client_send(fd, q, e);
	if (r == 0)
		r = client_receive(fd, until, &answer, e);
	if (r < 0)
		return r;
	if (json_parse(buf_slice(&answer), &o, &ignored) < 0)
		return err_set(e, EPROTO, "the run's answer is not JSON");
	return client_judge(o, ret, e);
}

int control_status(int state_dirfd, uint64_t timeout_us, json_t **ret, struct err *e)
{
	const struct control_request q = {.cmd = CONTROL_STATUS};

	return control_ask(state_dirfd, &q, timeout_us, ret, e);
}
