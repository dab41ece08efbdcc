/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_QUIET_H
#define RUNNER_TRIGGER_QUIET_H

#include "base/err.h"
#include "base/scan.h"
#include "runner/config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether other work oversubscribes the machine.
 *
 * Without an active run of ours, all load is other work.  During a run, load and pressure include
 * the run's own and cannot be separated.  CPU time can: the total minus the CPU time of our cells.
 * If as many tasks of others as "load" and one of ours share each CPU, the others get a share of
 * load / (load + 1).  During a run, this share is the limit.  Steal is never caused by our cells.
 */

/* The machine's counters at one moment. */
struct quiet_sample {
	uint64_t at_us;				     /* on the caller's clock */
	uint64_t busy_ticks, all_ticks, steal_ticks; /* since boot, of all CPUs */
	unsigned cpus;
	bool has_pressure;
	uint32_t pressure; /* thousandths of the last minute in which some task waited for a CPU */
	uint32_t load;	   /* thousandths of a runnable task; average of the last minute */
	uint64_t own_us;   /* CPU time of our cells; the caller sets it */
};

/* Parse /proc/stat, /proc/loadavg and /proc/pressure/cpu (proc(5)).  False: another format. */
bool quiet_parse_stat(struct slice text, struct quiet_sample *s);
bool quiet_parse_load(struct slice text, struct quiet_sample *s);
bool quiet_parse_pressure(struct slice text, struct quiet_sample *s);
/* Reads the files in the directory proc ("/proc").  A missing pressure file is no error. */
MUST_CHECK int quiet_read(const char *proc, struct quiet_sample *ret, struct err *e);

/* The load between two samples, in thousandths like the configuration. */
struct quiet_reading {
	uint32_t load;	 /* runnable tasks per CPU */
	uint32_t steal;	 /* of the CPUs' time */
	uint32_t others; /* of the CPUs' time, used outside our cells */
	bool has_pressure;
	uint32_t pressure;
};
/* If before is not earlier than after, all shares are 0. */
struct quiet_reading quiet_between(const struct quiet_sample *before,
				   const struct quiet_sample *after);

enum quiet_what { QUIET_ALL, QUIET_SOME, QUIET_NOT_NOW };
struct quiet_answer {
	enum quiet_what what;
	uint32_t workers; /* QUIET_SOME: at most */
	char why[160];	  /* "" if the machine is not oversubscribed */
};
/* ours: a run of ours is active.  waited_us: how long the start has been waiting. */
void quiet_decide(const struct trigger_config *c, const struct quiet_reading *r, bool ours,
		  uint64_t waited_us, struct quiet_answer *ret);

#endif
