/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_PACE_H
#define RUNNER_COMMAND_COMMON_PACE_H

#include "base/loop.h"

#include <stdbool.h>

/* Lines on standard error that say how far a command has come: after 5 seconds, and then less and
 * less often, up to once a minute. */
struct pace {
	/* The caller's: how much is done of how much.  what and unit are borrowed. */
	void (*look)(void *arg, uint64_t *ret_done, uint64_t *ret_of);
	void *arg;
	const char *what, *unit; /* "parser_fuzzer", "inputs" */

	/* Without a loop, pace_step(): how much is done of how much. */
	uint64_t done, of;

	/* The module's own. */
	struct source *timer;
	uint64_t began_us, wait_us, said_us;
};

/* Starts as above; pace_end() also after a failure, and twice.  pace_begin() after it begins
 * anew. */
MUST_CHECK int pace_begin(struct pace *p, struct loop *l, struct err *e);
void pace_end(struct pace *p);

/* Of a command that blocks, after each step: prints the line when it is due.  It begins with the
 * first call. */
void pace_step(struct pace *p);
/* Whether the line is due at now_us, and then when the next one is. */
bool pace_due(struct pace *p, uint64_t now_us);

/* The line, without its newline.  us: since the beginning; of 0: the end is not known. */
void pace_line(const struct pace *p, uint64_t done, uint64_t of, uint64_t us, char out[256]);

#endif
