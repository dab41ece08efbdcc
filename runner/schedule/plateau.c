/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/schedule/plateau.h"

#define RUNS_PER_BYTE 100 /* of -len_control=100, libFuzzer's default */

bool plateau_coverage(struct plateau *p, uint64_t cov, uint64_t ft)
{
	if (ft > p->ft)
		p->ft = ft;
	if (cov <= p->cov)
		return false;
	p->cov = cov;
	p->gains++;
	p->gain_effective_us = p->clock.clock_us;
	p->gain_wall_us = p->clock.wall_us;
	return true;
}

static bool still_growing(uint64_t lim, uint64_t max_len, uint64_t execs)
{
	return lim > 0 && lim < max_len && execs / RUNS_PER_BYTE < max_len;
}

bool plateau_reached(const struct plateau *p, const struct plateau_rules *rules, uint64_t lim,
		     uint64_t max_len, uint64_t execs)
{
	switch (rules->rule) {
	case PLATEAU_CPU_SILENCE:
		if (rules->cap_us > 0 && p->clock.clock_us >= rules->cap_us)
			return true;
		return p->clock.clock_us - p->gain_effective_us >= rules->window_us &&
		       !still_growing(lim, max_len, execs);
	case PLATEAU_WALL:
		return p->clock.wall_us - p->gain_wall_us >= rules->window_us &&
		       !still_growing(lim, max_len, execs);
	case PLATEAU_NONE:
	case PLATEAU_:
		break;
	}
	return false;
}
