/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONTROL_INTERNAL_H
#define RUNNER_CONTROL_INTERNAL_H

#include "runner/control/peer.h"
#include "runner/control/server.h"

#include <stdint.h>

/* The inside of server.c, for its tests. */

/* The rate limits: accepted connections, requests with CONTROL_MAY_READ, requests with
 * CONTROL_MAY_ALL.  They are separate so that requests of readers never delay the owner. */
enum rate { RATE_ACCEPT, RATE_READ, RATE_ALL, RATE_COUNT };

/* One answer line, shared by all connections that receive it. */
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
	uint32_t events;   /* that io waits for; 0: the connection waits for the next second */
	uint64_t since_us; /* of the last request, or of the last progress in sending its answer */
	struct control_answer *out;
	size_t sent;
	bool eof, closing; /* no more input; end after the current answer */
	bool served;	   /* had its request of this second that is exempt from rate limits */
	size_t n;
	char in[CONTROL_LINE_MAX];
};

struct control_server {
	struct loop *loop;
	int dirfd, fd;
	bool bound;
	struct control_owner owner;
	struct source *listening; /* NULL: paused until the next second */
	struct source *tick;
	bool ticking;
	unsigned left[RATE_COUNT]; /* what the rate limits still allow in this second */
	struct control_conn *v[CONTROL_CONNECTIONS_MAX];
	size_t n;
	size_t pending; /* bytes of all allocated answers */
	struct control_answer *status;
	uint64_t status_us;
	control_answer_fn *fn;
	void *arg;
};

/* Called once a second for a connection: ends it if it is idle, continues it if it waits. */
void control_conn_second(struct control_conn *c, uint64_t now_us);

#endif
