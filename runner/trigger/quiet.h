/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_QUIET_H
#define RUNNER_TRIGGER_QUIET_H

#include "base/err.h"
#include "base/scan.h"
#include "runner/config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether other work needs the machine.
 *
 * While no run of ours goes on, all that the machine does is other work.  While one does,
 * load and pressure are its doing too, and cannot be taken apart; CPU time can: what all
 * used, less what our cells used.  Others with so many tasks a CPU as "load" says, beside
 * ours, would get load / (load + 1) of the CPUs: that is the limit then.  Steal is never
 * ours. */

/* The machine's counters at one moment. */
struct quiet_sample {
	uint64_t at_us;				     /* on the clock of the caller */
	uint64_t busy_ticks, all_ticks, steal_ticks; /* since boot, of all CPUs */
	unsigned cpus;
	bool has_pressure;
	uint32_t pressure; /* thousandths of the last minute that some task waited for a CPU */
	uint32_t load;	   /* thousandths of a runnable task, the last minute's average */
	uint64_t own_us;   /* CPU time that our cells used; the caller's to fill */
};

/* Text of /proc/stat, /proc/loadavg, /proc/pressure/cpu (proc(5)); false: it is not that. */
bool quiet_parse_stat(struct slice text, struct quiet_sample *s);
bool quiet_parse_load(struct slice text, struct quiet_sample *s);
bool quiet_parse_pressure(struct slice text, struct quiet_sample *s);
/* From the files of that directory ("/proc"); no pressure there is no error. */
MUST_CHECK int quiet_read(const char *proc, struct quiet_sample *ret, struct err *e);

/* What was between two samples, as the configuration counts: thousandths. */
struct quiet_reading {
	uint32_t load;	 /* runnable tasks a CPU */
	uint32_t steal;	 /* of the CPUs' time */
	uint32_t others; /* of the CPUs' time, used by others than our cells */
	bool has_pressure;
	uint32_t pressure;
};
/* before may be as late as after: then nothing is known of shares. */
struct quiet_reading quiet_between(const struct quiet_sample *before,
				   const struct quiet_sample *after);

enum quiet_what { QUIET_ALL, QUIET_SOME, QUIET_NOT_NOW };
struct quiet_answer {
	enum quiet_what what;
	uint32_t workers; /* QUIET_SOME: at most */
	char why[160];	  /* "" when the machine is not busy */
};
/* ours: a run of ours is going on.  waited_us: how long the start waits for this already. */
void quiet_decide(const struct trigger_config *c, const struct quiet_reading *r, bool ours,
		  uint64_t waited_us, struct quiet_answer *ret);

#endif
