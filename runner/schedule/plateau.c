/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/schedule/plateau.h"

/* Share of wall time stalled on memory above which a cell thrashes: alone, and
 * together with a kernel share of the CPU time that only reclaim explains. */
#define THRASH_STALL	    0.10
#define THRASH_STALL_KERNEL 0.02
#define THRASH_KERNEL	    0.50
#define STARVED		    0.25
/* Running for less than this share of an interval, and not because it had to wait,
 * is holding still. */
#define IDLE_SHARE    0.01
#define RUNS_PER_BYTE 100 /* of -len_control=100, libFuzzer's default */

void plateau_begin(struct plateau *p, uint64_t at_us)
{
	p->last = (struct plateau_reading){.at_us = at_us};
	p->began = true;
	p->idle_us = 0;
	p->state = PLATEAU_OK;
}

/* Counters never run backwards; a cut or odd reading counts as no progress, and
 * what was counted before it is not counted again after it. */
static uint64_t grown(uint64_t now, uint64_t *io_before)
{
	uint64_t before = *io_before;

	if (now <= before)
		return 0;
	*io_before = now;
	return now - before;
}

static bool thrashes(double wall, double cpu, double system, double memory)
{
	double stall = memory / wall;

	return stall > THRASH_STALL ||
	       (stall > THRASH_STALL_KERNEL && cpu > 0 && system / cpu > THRASH_KERNEL);
}

void plateau_read(struct plateau *p, const struct plateau_reading *r)
{
	struct plateau_reading *last = &p->last;
	uint64_t wall, cpu, system, wait, memory;
	double share, weight;
	bool thrash;

	if (!p->began)
		return;
	wall = grown(r->at_us, &last->at_us);
	if (wall == 0)
		return;
	cpu = grown(r->usage_us, &last->usage_us);
	system = grown(r->system_us, &last->system_us);
	wait = grown(r->cpu_stall_us, &last->cpu_stall_us);
	memory = grown(r->memory_stall_us, &last->memory_stall_us);
	thrash = thrashes((double)wall, (double)cpu, (double)system, (double)memory);
	p->wall_us += wall;
	p->stalled_us += wait;
	if (!thrash)
		p->effective_us += cpu;
	if ((double)cpu < (double)wall * IDLE_SHARE && wait + memory < wall / 2)
		p->idle_us += wall;
	else
		p->idle_us = 0;
	share = cpu + wait > 0 ? (double)wait / (double)(cpu + wait) : 0;
	weight = (double)wall / (double)PLATEAU_STARVED_WINDOW_US;
	if (weight > 1)
		weight = 1;
	p->starved += (share - p->starved) * weight;
	if (thrash)
		p->state = PLATEAU_THRASHING;
	else
		p->state = p->starved >= STARVED ? PLATEAU_STARVED : PLATEAU_OK;
}

bool plateau_coverage(struct plateau *p, uint64_t cov, uint64_t ft)
{
	if (ft > p->ft)
		p->ft = ft;
	if (cov <= p->cov)
		return false;
	p->cov = cov;
	p->gains++;
	p->gain_effective_us = p->effective_us;
	p->gain_wall_us = p->wall_us;
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
		if (rules->cap_us > 0 && p->effective_us >= rules->cap_us)
			return true;
		return p->effective_us - p->gain_effective_us >= rules->window_us &&
		       !still_growing(lim, max_len, execs);
	case PLATEAU_WALL:
		return p->wall_us - p->gain_wall_us >= rules->window_us &&
		       !still_growing(lim, max_len, execs);
	case PLATEAU_NONE:
	case PLATEAU_:
		break;
	}
	return false;
}

const char *plateau_state_name(enum plateau_state s)
{
	switch (s) {
	case PLATEAU_STARVED:
		return "starved";
	case PLATEAU_THRASHING:
		return "thrashing";
	case PLATEAU_OK:
		break;
	}
	return "ok";
}
