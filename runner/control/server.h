/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONTROL_SERVER_H
#define RUNNER_CONTROL_SERVER_H

#include "base/clock.h"
#include "base/loop.h"
#include "runner/control/request.h"

/* The control socket of a run, in the run's own loop.  It knows nothing of runs: what it is
 * asked it asks a callback.  Whatever its peers do costs a bounded amount of memory, CPU time
 * and descriptors. */
struct control_server;

enum {
	CONTROL_CONNECTIONS_MAX = 64,
	CONTROL_LOOKERS_MAX = 32,	/* of them: neither root nor the owner */
	CONTROL_PENDING_MAX = 16 << 20, /* bytes of answers that are not sent yet */
	/* Connections; requests of lookers; of the others, but each connection's first. */
	CONTROL_PER_SECOND_MAX = 100,
};
#define CONTROL_IDLE_US		(60 * USEC_PER_SEC)   /* without a request */
#define CONTROL_STUCK_US	(10 * USEC_PER_SEC)   /* without reading its answer */
#define CONTROL_STATUS_FRESH_US (200 * USEC_PER_MSEC) /* a status is used again for so long */

/* Answers a request of somebody who may ask it: *ret is an object, without "ok", that is the
 * server's from then on, or NULL; the text of an error is what the peer gets.  It may end the
 * loop, but not close the server. */
typedef int control_answer_fn(void *arg, const struct control_request *q, json_t **ret,
			      struct err *e);

/* The caller has the state's lock: a socket that is there is a dead run's, and is replaced.
 * state_dirfd stays the caller's, open until control_server_close(). */
MUST_CHECK int control_server_open(struct loop *l, int state_dirfd, control_answer_fn *fn,
				   void *arg, struct control_server **ret, struct err *e);
/* Removes the socket; what was not sent is lost.  NULL is fine. */
void control_server_close(struct control_server *s);

#endif
