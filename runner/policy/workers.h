/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_WORKERS_H
#define RUNNER_POLICY_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

/* How many cells at once the machine bears, from its own pressure (/proc/pressure): one
 * less when somebody waits for a CPU much of the time, one more when hardly anybody does,
 * and sooner one less when everybody waits for memory.  Pure. */

struct workers_reading {
	uint64_t at_us;	      /* clock_mono_us() */
	uint64_t cpu_some_us; /* totals */
	uint64_t memory_full_us;
	/* Share of the time since the last reading in which somebody waited for a CPU because
	 * of a limit of its own, which PSI counts as well. */
	double held;
};

struct workers {
	unsigned most, now; /* at least 1 */
	struct workers_reading last;
	bool began;
	double cpu, memory;		      /* shares, decaying over ten seconds: 0..1 */
	uint64_t busy_us, quiet_us, short_us; /* how long each has lasted */
};

#define WORKERS_BUSY 0.25 /* share of the time that somebody waits for a CPU */

enum workers_news {
	WORKERS_SAME,
	WORKERS_MORE,
	WORKERS_LESS,	/* others need the CPUs */
	WORKERS_MEMORY, /* one less: memory is short */
};

void workers_begin(struct workers *w, unsigned most);
/* Another limit from outside. */
void workers_limit(struct workers *w, unsigned most);
enum workers_news workers_read(struct workers *w, const struct workers_reading *r);

#endif
