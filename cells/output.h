/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_OUTPUT_H
#define CELLS_OUTPUT_H

#include "base/err.h"
#include "base/loop.h"
#include "base/scan.h"

#include <stdbool.h>

/* Reads a pipe from the event loop, at a limited rate.  Above the rate, the pipe stays full and its
 * writers are blocked until the next tick.  Our process never blocks. */

/* A pipe holds OUTPUT_CHUNK bytes.  After a read of fewer than OUTPUT_FEW bytes, the pipe is not
 * read for OUTPUT_REST_MS. */
enum { OUTPUT_CHUNK = 65536, OUTPUT_FEW = 4096, OUTPUT_TICK_MS = 100, OUTPUT_REST_MS = 50 };

typedef void output_fn(void *arg, struct slice bytes);

struct output {
	struct loop *loop;
	struct source *io;    /* NULL while the pipe must not be read */
	struct source *timer; /* when to read again */
	int fd;		      /* -1: the pipe ended */
	uint64_t per_tick;    /* bytes; 0: no limit */
	uint64_t tick_at;     /* begin of the tick */
	uint64_t taken;	      /* bytes read in this tick */
	char *room;	      /* OUTPUT_CHUNK bytes of the caller's, only used during a call */
	output_fn *fn;
	void *arg;
};

#define OUTPUT_INIT ((struct output){.fd = -1})

/* Takes ownership of fd, also on failure. */
MUST_CHECK int output_start(struct output *o, struct loop *l, int fd, uint64_t per_second,
			    char *room, output_fn *fn, void *arg, struct err *e);
/* Delivers waiting output before an event of a writer is reported. */
void output_now(struct output *o);
/* Reads the rest at once, when no writer is left (no more than the pipe holds). */
void output_drain(struct output *o);
void output_stop(struct output *o); /* also when it was never started */

#endif
