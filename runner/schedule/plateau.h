/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SCHEDULE_PLATEAU_H
#define RUNNER_SCHEDULE_PLATEAU_H

#include "runner/config/config.h"
#include "runner/policy/effective.h"

#include <stdbool.h>
#include <stdint.h>

/* When more CPU time on a target is not expected to pay.  Pure: readings and times are
 * arguments; the clock is runner/policy/effective.h's.
 *
 *   cpu-silence  no new edge for window of effective time, or cap of it in all
 *   wall         no new edge for window of wall time (the classic rule)
 *   none         never
 *
 * In all of them a target is not done while the engine still raises its input
 * length (lim below max_len) and has run less than 100 inputs a byte of it. */

struct plateau {
	struct effective clock;
	uint64_t gain_effective_us, gain_wall_us; /* at the last new edge */
	uint64_t cov, ft;			  /* maxima over all cells of the target */
	uint64_t gains;				  /* how often cov grew */
};

/* True when cov grew beyond everything seen before (also before a restart). */
bool plateau_coverage(struct plateau *p, uint64_t cov, uint64_t ft);

struct plateau_rules {
	enum plateau_rule rule;
	uint64_t window_us, cap_us;
};
/* lim, max_len, execs: as the engine says, 0 where it did not. */
bool plateau_reached(const struct plateau *p, const struct plateau_rules *rules, uint64_t lim,
		     uint64_t max_len, uint64_t execs);

#endif
