/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_WORKERS_H
#define RUNNER_POLICY_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

/* Adapts the number of workers to the machine's pressure (/proc/pressure).  One fewer when tasks
 * often wait for a CPU, one more when they hardly ever do.  One fewer, after a shorter time, when
 * all tasks wait for memory.  The functions are pure. */

struct workers_reading {
	uint64_t at_us;	      /* clock_mono_us() */
	uint64_t cpu_some_us; /* totals */
	uint64_t memory_full_us;
	/* Share of the time since the last reading in which a cell's own CPU limit throttled it.
	 * PSI counts that as waiting for a CPU, too. */
	double throttled;
};

struct workers {
	unsigned most, now; /* at least 1 */
	struct workers_reading last;
	bool began;
	double cpu, memory;		      /* shares, decaying over ten seconds: 0..1 */
	uint64_t busy_us, quiet_us, short_us; /* how long each condition has lasted */
};

#define WORKERS_BUSY 0.25 /* share of the time in which a task waits for a CPU */

enum workers_news {
	WORKERS_SAME,
	WORKERS_MORE,
	WORKERS_LESS,	/* others need the CPUs */
	WORKERS_MEMORY, /* one fewer: memory is short */
};

void workers_begin(struct workers *w, unsigned most);
/* Sets another limit of workers, from outside. */
void workers_limit(struct workers *w, unsigned most);
enum workers_news workers_read(struct workers *w, const struct workers_reading *r);

#endif
