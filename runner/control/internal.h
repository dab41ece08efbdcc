/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONTROL_INTERNAL_H
#define RUNNER_CONTROL_INTERNAL_H

#include "runner/control/peer.h"
#include "runner/control/server.h"

#include <stdint.h>

/* Between server.c (the socket, who comes, what a second costs), conn.c (one connection) and
 * answer.c (what it is sent). */

/* What of a second is for whom: who looks shall not keep the owner waiting. */
enum purse { PURSE_ACCEPT, PURSE_LOOK, PURSE_ALL, PURSE_COUNT };

/* One line, shared by all whom it is sent to. */
struct control_answer {
	size_t refs, n;
	char text[];
};

struct control_conn {
	struct control_server *server;
	size_t place;
	int fd;
	enum control_right right;
	struct source *io;
	uint32_t events;   /* that io waits for; 0: for the next second */
	uint64_t since_us; /* of the last request, or the last of its answer that it took */
	struct control_answer *out;
	size_t sent;
	bool eof, closing; /* nothing more is read */
	bool served;	   /* in this second: the first request needs no purse */
	size_t n;
	char in[CONTROL_LINE_MAX];
};

struct control_server {
	struct loop *loop;
	int dirfd, fd;
	bool bound;
	struct control_owner owner;
	struct source *listening; /* NULL: until the next second */
	struct source *tick;
	bool ticking;
	unsigned left[PURSE_COUNT]; /* things to do in this second */
	struct control_conn *v[CONTROL_CONNECTIONS_MAX];
	size_t n;
	size_t pending; /* bytes of all answers that live */
	struct control_answer *status;
	uint64_t status_us;
	control_answer_fn *fn;
	void *arg;
};

/* Whether there is one more thing to do in this second; else it waits for the next. */
bool control_server_spend(struct control_server *s, enum purse p);

/* Takes the descriptor.  Without memory the peer is hung up on. */
void control_conn_new(struct control_server *s, size_t place, int *take_fd,
		      enum control_right right);
void control_conn_second(struct control_conn *c, uint64_t now_us);
void control_conn_free(struct control_conn *c); /* NULL is fine */

/* The answer to a request line; NULL: there is no memory for any. */
struct control_answer *control_answer_to(struct control_server *s, enum control_right right,
					 struct slice line);
struct control_answer *control_answer_error(struct control_server *s, const char *why);
void control_answer_drop(struct control_server *s, struct control_answer *a); /* NULL is fine */

#endif
