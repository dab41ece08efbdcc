/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PEERS_H
#define TESTS_PEERS_H

/* A server in the test's own directory, and a peer in a child process.  Include unit.h first. */
#include "base/clock.h"
#include "runner/control/client.h"
#include "runner/control/internal.h"
#include "runner/control/request.h"
#include "tests/unit/each.h"

#include <sys/wait.h>

#define SOON (10 * USEC_PER_SEC)

struct served {
	struct loop *loop;
	struct control_server *server;
	struct control_request last;
	unsigned asked, changed;
	size_t padding; /* of a target's answer */
	int status;	/* of the child */
};

/* status: {"run": {}}; target: padded to the given length; workers: refused; others: empty. */
static inline int answer(void *arg, const struct control_request *q, json_t **ret, struct err *e)
{
	struct served *s = arg;
	char *text;

	s->last = *q;
	s->asked++;
	s->changed += !control_only_reads(q->cmd);
	if (q->cmd == CONTROL_WORKERS)
		return err_set(e, ERANGE, "not %u \xff workers", q->workers);
	if (q->cmd == CONTROL_STATUS)
		*ret = json_pack("{s:{}, s:I}", "run", "asked", (json_int_t)s->asked);
	if (q->cmd == CONTROL_TARGET) {
		text = malloc(s->padding + 1);
		assert_non_null(text);
		memset(text, 'x', s->padding);
		text[s->padding] = '\0';
		*ret = json_pack("{s:s}", "target", text);
		free(text);
	}
	return 0;
}

static inline void on_child(void *arg, pid_t pid, int status)
{
	struct served *s = arg;

	(void)pid;
	s->status = status;
	loop_stop(s->loop);
}

/* Runs peer() in a child, which ends with its result: 0, or the number of a failed check. */
static inline struct served serve(size_t padding, int (*peer)(int dirfd))
{
	struct served s = {.padding = padding, .status = -1};
	struct source *child = NULL;
	struct err e;
	pid_t pid;

	assert_int_equal(loop_new(&s.loop, &e), 0);
	assert_int_equal(control_server_open(s.loop, dir.fd, answer, &s, &s.server, &e), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(peer(dir.fd));
	assert_int_equal(loop_add_child(s.loop, pid, on_child, &s, &child, &e), 0);
	assert_int_equal(loop_run(s.loop, &e), 0);
	source_remove(child);
	control_server_close(s.server);
	loop_free(s.loop);
	assert_true(WIFEXITED(s.status));
	if (WEXITSTATUS(s.status) != 0)
		fail_msg("the peer failed in its check %d", WEXITSTATUS(s.status));
	return s;
}

/* In the child: a failed check ends it. */
#define CHECK(n, cond)            \
	do {                      \
		if (!(cond))      \
			_exit(n); \
	} while (0)

static inline int connected(int dirfd, int flags)
{
	struct sockaddr_un a;
	socklen_t n = control_address(dirfd, &a);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, n) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static inline void send_text(int fd, const char *text)
{
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* Reads until the server hangs up, or this number of lines, or the size of the buffer. */
static inline size_t hear(int fd, char *out, size_t room, unsigned lines)
{
	size_t n = 0;
	ssize_t r;

	while (lines > 0 && n + 1 < room && (r = recv(fd, out + n, 1, 0)) == 1)
		lines -= out[n++] == '\n';
	out[n] = '\0';
	return n;
}

static inline bool lives(int dirfd)
{
	json_t *o = NULL;
	struct err e;

	return control_status(dirfd, SOON, &o, &e) == 0 &&
	       json_is_object(json_object_get(o, "run"));
}

#endif
