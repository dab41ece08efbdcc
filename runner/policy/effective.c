/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/policy/effective.h"

/* A cell thrashes above this share of wall time stalled on memory.  The second, lower share needs a
 * kernel share of the CPU time that only reclaim explains. */
#define THRASH_STALL	    0.10
#define THRASH_STALL_KERNEL 0.02
#define THRASH_KERNEL	    0.50
#define STARVED		    0.25
/* A cell is idle if it ran for less than this share of an interval and did not wait. */
#define IDLE_SHARE 0.01
#define IDLE_US	   EFFECTIVE_WINDOW_US
#define FIRST_US   UINT64_C(10000000)
#define LONGEST_US UINT64_C(2000000) /* the state within a longer interval is not known */

void effective_begin(struct effective *e, uint64_t at_us, double quota)
{
	if (!e->began)
		e->calm_us = EFFECTIVE_WINDOW_US; /* a new target counts as not starved */
	e->last = (struct effective_reading){.at_us = at_us};
	e->began = true;
	e->quota = quota;
	e->idle_us = 0;
	e->throttled = 0;
	e->state = EFFECTIVE_OK;
}

/* Counters never run backwards: a truncated or odd reading counts as no progress.  The counter is
 * compared with its last maximum, so nothing is counted twice. */
static uint64_t effective_grown(uint64_t now, uint64_t *io_before)
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

/* The share of the CPU time that the cell could use in the interval, and that others got. */
static double missed(struct effective *e, double wall, double cpu, double wait)
{
	double wanted = cpu + wait, most = e->quota * wall;

	e->throttled = 0;
	if (e->quota > 0 && wanted > most) {
		e->throttled = (wanted - most) / wall;
		if (e->throttled > wait / wall)
			e->throttled = wait / wall;
		if (e->throttled > 1)
			e->throttled = 1;
		wanted = most;
	}
	return wanted > cpu ? 1 - cpu / wanted : 0;
}

/* The window over which `starved` decays.  For a new target it is all its time, but at least
 * FIRST_US. */
static double window(const struct effective *e)
{
	uint64_t us = e->wall_us > FIRST_US ? e->wall_us : FIRST_US;

	return (double)(us < EFFECTIVE_WINDOW_US ? us : EFFECTIVE_WINDOW_US);
}

/* Weights the interval by the time in which the cell wanted a CPU: an idle target neither becomes
 * starved nor stops being starved. */
static void starve(struct effective *e, double wall, double cpu, double wait)
{
	double weight = (cpu + wait < wall ? cpu + wait : wall) / window(e);

	if (weight > 1)
		weight = 1;
	e->starved += (missed(e, wall, cpu, wait) - e->starved) * weight;
}

/* A cell that waits, also for a disk, is not idle. */
static bool is_idle(uint64_t wall, uint64_t cpu, uint64_t waits)
{
	return (double)cpu < (double)wall * IDLE_SHARE && waits < wall / 2;
}

static void effective_judge(struct effective *e, uint64_t wall, bool thrash)
{
	bool starved = e->starved >= STARVED;

	if (thrash)
		e->state = EFFECTIVE_THRASHING;
	else if (e->idle_us >= IDLE_US)
		e->state = EFFECTIVE_STUCK;
	else
		e->state = starved ? EFFECTIVE_STARVED : EFFECTIVE_OK;
	e->calm_us = thrash || starved ? 0 : e->calm_us + wall;
}

uint64_t effective_read(struct effective *e, const struct effective_reading *r)
{
	struct effective_reading *last = &e->last;
	uint64_t wall, looked, cpu, system, wait, own, memory, io;
	bool thrash;

	if (!e->began)
		return 0;
	wall = effective_grown(r->at_us, &last->at_us);
	if (wall == 0)
		return 0;
	cpu = effective_grown(r->usage_us, &last->usage_us);
	system = effective_grown(r->system_us, &last->system_us);
	wait = effective_grown(r->cpu_stall_us, &last->cpu_stall_us);
	memory = effective_grown(r->memory_stall_us, &last->memory_stall_us);
	io = effective_grown(r->io_stall_us, &last->io_stall_us);
	thrash = thrashes((double)wall, (double)cpu, (double)system, (double)memory);
	e->wall_us += wall;
	e->usage_us += cpu;
	looked = wall < LONGEST_US ? wall : LONGEST_US;
	e->idle_us = is_idle(wall, cpu, wait + memory + io) ? e->idle_us + looked : 0;
	starve(e, (double)wall, (double)cpu, (double)wait);
	own = (uint64_t)(e->throttled * (double)wall);
	e->waited_us += wait > own ? wait - own : 0;
	effective_judge(e, looked, thrash);
	if (thrash)
		return 0;
	e->clock_us += cpu;
	return cpu;
}

const char *effective_state_name(enum effective_state s)
{
	static const char *const names[] = {"ok", "starved", "thrashing", "stuck"};

	return names[s];
}
