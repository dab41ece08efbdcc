/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SCHEDULE_PLATEAU_H
#define RUNNER_SCHEDULE_PLATEAU_H

#include "runner/config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* The effective clock of a target and the rule that says when more CPU time is
 * not expected to pay.  Pure: readings and times are arguments.
 *
 * The clock counts the CPU time that the cell really got, and stands while the
 * cell is thrashing (stalled on memory), so that a starved, throttled, frozen or
 * swapping fuzzer is never taken for a finished one.
 *
 *   cpu-silence  no new edge for window of effective time, or cap of it in all
 *   wall         no new edge for window of wall time (the classic rule)
 *   none         never
 *
 * In all of them a target is not done while the engine still raises its input
 * length (lim below max_len) and has run less than 100 inputs a byte of it. */

/* Totals of the cell, and the time at which they were read. */
struct plateau_reading {
	uint64_t at_us; /* clock_mono_us() */
	uint64_t usage_us, system_us;
	uint64_t cpu_stall_us; /* "full" where the cell has several tasks: waited for a CPU */
	uint64_t memory_stall_us;
};

enum plateau_state {
	PLATEAU_OK,
	PLATEAU_STARVED,   /* got under three quarters of the CPU that it could use */
	PLATEAU_THRASHING, /* stalled on memory: the clock stands */
};

/* Starvation is judged over this much wall time. */
#define PLATEAU_STARVED_WINDOW_US UINT64_C(60000000)

struct plateau {
	struct plateau_reading last;
	bool began;
	uint64_t effective_us;			  /* the clock */
	uint64_t wall_us;			  /* time in cells */
	uint64_t stalled_us;			  /* of it: waiting for a CPU */
	uint64_t gain_effective_us, gain_wall_us; /* at the last new edge */
	uint64_t cov, ft;			  /* maxima over all cells of the target */
	uint64_t gains;				  /* how often cov grew */
	double starved;	  /* share of waiting, decaying over the window: 0..1 */
	uint64_t idle_us; /* since it last ran or waited for anything: stopped, deadlocked */
	enum plateau_state state;
};

/* A new cell starts: its totals begin at zero again, at this time. */
void plateau_begin(struct plateau *p, uint64_t at_us);
void plateau_read(struct plateau *p, const struct plateau_reading *r);
/* True when cov grew beyond everything seen before (also before a restart). */
bool plateau_coverage(struct plateau *p, uint64_t cov, uint64_t ft);

struct plateau_rules {
	enum plateau_rule rule;
	uint64_t window_us, cap_us;
};
/* lim, max_len, execs: as the engine says, 0 where it did not. */
bool plateau_reached(const struct plateau *p, const struct plateau_rules *rules, uint64_t lim,
		     uint64_t max_len, uint64_t execs);

const char *plateau_state_name(enum plateau_state s);

#endif
