/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_LISTENER_H
#define CELLS_LISTENER_H

#include "base/err.h"
#include "base/loop.h"

/* Answers a cell's refused system calls.  crun connects to the cell's own socket and sends the
 * seccomp listener over it, once (OCI runtime-spec, "listenerPath").  The caller of a refused call
 * is blocked until the answer.  At most LISTENER_PER_TICK calls are answered in a tick, so that a
 * cell that makes many such calls does not use up our CPU time.  When we close the listener, or
 * never got it, the kernel answers ENOSYS. */

enum { LISTENER_PER_TICK = 200, LISTENER_TICK_MS = 100 };

typedef void refused_fn(void *arg, const char *name);

struct listener {
	struct loop *loop;
	struct source *io;
	struct source *timer;
	int fd; /* the socket, then the connection, then the seccomp listener */
	void (*step)(struct listener *l);
	uint64_t tick_at;  /* microseconds */
	unsigned answered; /* in this tick */
	refused_fn *fn;
	void *arg;
};

#define LISTENER_INIT ((struct listener){.fd = -1})

/* Listens on dirfd/name. */
MUST_CHECK int listener_start(struct listener *l, struct loop *loop, int dirfd, const char *name,
			      refused_fn *fn, void *arg, struct err *e);
void listener_stop(struct listener *l); /* also when it was never started */

#endif
