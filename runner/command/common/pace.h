/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_PACE_H
#define RUNNER_COMMAND_COMMON_PACE_H

#include "base/loop.h"

#include <stdbool.h>

/* Prints progress lines on standard error: the first after 5 seconds, then at doubling intervals up
 * to one minute. */
struct pace {
	/* Set by the caller. look returns the progress; what and unit are borrowed. */
	void (*look)(void *arg, uint64_t *ret_done, uint64_t *ret_of);
	void *arg;
	const char *what, *unit; /* "parser_fuzzer", "inputs" */

	/* The progress for pace_step(), which works without a loop. */
	uint64_t done, of;

	/* The module's own. */
	struct source *timer;
	uint64_t began_us, wait_us, printed_us;
};

/* Set the fields above first. pace_end() may be called after a failure, and twice. pace_begin()
 * after pace_end() starts anew. */
MUST_CHECK int pace_begin(struct pace *p, struct loop *l, struct err *e);
void pace_end(struct pace *p);

/* For commands that block: call it after each step. Prints the line when due. The time starts with
 * the first call. */
void pace_step(struct pace *p);
/* Reports whether the line is due at now_us. If so, schedules the next line. */
bool pace_due(struct pace *p, uint64_t now_us);

/* Formats the line without a newline. us: time since the start. of 0: the total is unknown. */
void pace_line(const struct pace *p, uint64_t done, uint64_t of, uint64_t us, char out[256]);

#endif
