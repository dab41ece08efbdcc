/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_EFFECTIVE_H
#define RUNNER_POLICY_EFFECTIVE_H

#include <stdbool.h>
#include <stdint.h>

/* The effective clock of a target: the CPU time that its cells got.  It stands while they thrash
 * (stalled on memory).  So a starved, throttled, frozen or swapping target is never mistaken for a
 * finished target.  The functions are pure: readings and times are arguments. */

/* Totals of the cell, and the time of reading them. */
struct effective_reading {
	uint64_t at_us; /* clock_mono_us() */
	uint64_t usage_us, system_us;
	/* 0 where the machine has no PSI.  Then no target is starved, and the clock counts CPU time
	 * alone. */
	uint64_t cpu_stall_us; /* "full": all runnable tasks of the cell waited for a CPU */
	uint64_t memory_stall_us, io_stall_us;
};

enum effective_state {
	EFFECTIVE_OK,
	EFFECTIVE_STARVED,   /* got under three quarters of the CPU time that it could use */
	EFFECTIVE_THRASHING, /* stalled on memory: the clock stands */
	EFFECTIVE_STUCK,     /* neither runs nor waits for anything */
};

/* Starvation is judged over this much wall time. */
#define EFFECTIVE_WINDOW_US UINT64_C(60000000)

struct effective {
	struct effective_reading last;
	bool began;
	double quota;	    /* CPUs that the cell may use; 0: no limit */
	uint64_t clock_us;  /* the clock */
	uint64_t wall_us;   /* time in cells */
	uint64_t usage_us;  /* CPU time, also while it thrashed */
	uint64_t waited_us; /* wall time: waiting for a CPU that its quota would have let it use */
	/* Share of the CPU time that the target could use and did not get, 0..1.  It decays over
	 * the window; for a new target over all its time, but at least ten seconds.  CPU time that
	 * its own quota takes away is not starvation.  Time in which the target neither ran nor
	 * waited for a CPU (frozen, asleep) does not change it. */
	double starved;
	double throttled; /* share of the last interval in which its own quota throttled it, 0..1 */
	/* Two seconds at most count between two readings.  After a longer interval this process
	 * was suspended, and the cell may have been suspended, too. */
	uint64_t idle_us; /* since the target last ran or waited for anything */
	uint64_t calm_us; /* wall time since the target was last starved or thrashing */
	enum effective_state state;
};

/* A new cell starts at this time: its totals begin at zero again. */
void effective_begin(struct effective *e, uint64_t at_us, double quota);
/* Returns the effective time that passed since the last reading. */
uint64_t effective_read(struct effective *e, const struct effective_reading *r);

const char *effective_state_name(enum effective_state s);

#endif
