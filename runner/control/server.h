/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONTROL_SERVER_H
#define RUNNER_CONTROL_SERVER_H

#include "base/clock.h"
#include "base/loop.h"
#include "runner/control/request.h"

/* The control socket of a run, in the run's own loop.  A callback answers the requests; the server
 * knows nothing about runs.  Peers can use only a bounded amount of memory, CPU time and
 * descriptors. */
struct control_server;

enum {
	CONTROL_CONNECTIONS_MAX = 64,
	CONTROL_READERS_MAX = 32,	/* connections without CONTROL_MAY_ALL */
	CONTROL_PENDING_MAX = 16 << 20, /* bytes of answers that are not sent yet */
	/* Each limit counts separately: connections, requests of readers, other requests.  The
	 * first request of a connection in a second is exempt. */
	CONTROL_PER_SECOND_MAX = 100,
};
/* When a connection without a request ends, and one with a peer that does not read its answer. */
#define CONTROL_IDLE_US	 (60 * USEC_PER_SEC)
#define CONTROL_STUCK_US (10 * USEC_PER_SEC)
/* A status answer is reused for this long. */
#define CONTROL_STATUS_FRESH_US (200 * USEC_PER_MSEC)

/* Answers a permitted request.  *ret: an object without "ok", which the server then owns, or NULL.
 * The peer receives the text of an error.  The callback may end the loop, but must not close the
 * server. */
typedef int control_answer_fn(void *arg, const struct control_request *q, json_t **ret,
			      struct err *e);

/* The caller must hold the state's lock: an existing socket belongs to a dead run and is replaced.
 * The caller keeps state_dirfd open until control_server_close(). */
MUST_CHECK int control_server_open(struct loop *l, int state_dirfd, control_answer_fn *fn,
				   void *arg, struct control_server **ret, struct err *e);
/* Removes the socket.  Unsent answers are lost.  NULL is fine. */
void control_server_close(struct control_server *s);

#endif
