/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_OUTPUT_H
#define CELLS_OUTPUT_H

#include "base/err.h"
#include "base/loop.h"
#include "base/scan.h"

#include <stdbool.h>

/* Reads a pipe from the event loop, no faster than a rate: past it the pipe is
 * left full, and its writers wait, until the next tick.  Nothing sleeps. */

/* A pipe holds OUTPUT_CHUNK bytes; one that had only few is left alone for a while. */
enum { OUTPUT_CHUNK = 65536, OUTPUT_FEW = 4096, OUTPUT_TICK_MS = 100, OUTPUT_REST_MS = 50 };

typedef void output_fn(void *arg, struct slice bytes);

struct output {
	struct loop *loop;
	struct source *io;    /* NULL while nothing more may be read */
	struct source *timer; /* when to read again */
	int fd;		      /* -1: the pipe ended */
	uint64_t per_tick;    /* bytes; 0: no limit */
	uint64_t tick_at;     /* begin of the tick */
	uint64_t taken;	      /* bytes read in it */
	char *room;	      /* OUTPUT_CHUNK bytes, the caller's: only used inside a call */
	output_fn *fn;
	void *arg;
};

#define OUTPUT_INIT ((struct output){.fd = -1})

/* fd is taken over at once, also on failure. */
MUST_CHECK int output_start(struct output *o, struct loop *l, int fd, uint64_t per_second,
			    char *room, output_fn *fn, void *arg, struct err *e);
/* Something happened to a writer: what it wrote before comes first. */
void output_now(struct output *o);
/* When no writer is left: reads the rest (no more than the pipe holds), at once. */
void output_drain(struct output *o);
void output_stop(struct output *o); /* also when it was never started */

#endif
