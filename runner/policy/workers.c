/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/policy/workers.h"

#include "base/clock.h"

#define DECAY_US (10 * USEC_PER_SEC)
#define BUSY_US	 (30 * USEC_PER_SEC)
#define QUIET	 0.05
#define QUIET_US (60 * USEC_PER_SEC)
#define SHORT	 0.10
#define SHORT_US (10 * USEC_PER_SEC)
/* A longer gap between two readings is ignored: this process was suspended. */
#define GAP_US (60 * USEC_PER_SEC)
/* If cells are throttled for more of the time than this, the rest is too short to measure the
 * pressure of others. */
#define HELD_MOST 0.90

void workers_begin(struct workers *w, unsigned most)
{
	*w = (struct workers){.most = most, .now = most};
}

void workers_limit(struct workers *w, unsigned most)
{
	bool all = w->now == w->most;

	w->most = most;
	if (all || w->now > most)
		w->now = most;
}

static uint64_t workers_grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static double share_of(uint64_t part, uint64_t wall)
{
	double share = (double)part / (double)wall;

	return share < 1 ? share : 1;
}

/* The waiting share within the time in which no cell was throttled by its own limit. */
static double without(double share, double held)
{
	if (held > HELD_MOST || share <= held)
		return 0;
	return (share - held) / (1 - held);
}

static void decay(double *io, double share, uint64_t wall)
{
	double weight = (double)wall / (double)DECAY_US;

	*io += (share - *io) * (weight < 1 ? weight : 1);
}

static void lasts(bool so, uint64_t wall, uint64_t *io)
{
	*io = so ? *io + wall : 0;
}

/* A machine with a low mean pressure has single seconds with more.  These subtract their length
 * from the quiet time, and do not reset it. */
static void workers_accumulates(bool so, uint64_t wall, uint64_t *io)
{
	*io = so ? *io + wall : *io > wall ? *io - wall : 0;
}

static enum workers_news workers_judge(struct workers *w)
{
	enum workers_news news = WORKERS_SAME;

	if (w->short_us >= SHORT_US)
		news = WORKERS_MEMORY;
	else if (w->busy_us >= BUSY_US)
		news = WORKERS_LESS;
	else if (w->quiet_us >= QUIET_US)
		news = WORKERS_MORE;
	if (news == WORKERS_SAME)
		return news;
	w->short_us = w->busy_us = w->quiet_us = 0;
	if (news == WORKERS_MORE ? w->now >= w->most : w->now <= 1)
		return WORKERS_SAME;
	w->now += news == WORKERS_MORE ? 1 : -1U;
	return news;
}

enum workers_news workers_read(struct workers *w, const struct workers_reading *r)
{
	uint64_t wall = workers_grown(r->at_us, w->last.at_us);

	if (w->began && wall > 0 && wall < GAP_US) {
		decay(&w->cpu,
		      without(share_of(workers_grown(r->cpu_some_us, w->last.cpu_some_us), wall),
			      r->throttled),
		      wall);
		decay(&w->memory,
		      share_of(workers_grown(r->memory_full_us, w->last.memory_full_us), wall),
		      wall);
		lasts(w->cpu > WORKERS_BUSY, wall, &w->busy_us);
		lasts(w->memory > SHORT, wall, &w->short_us);
		workers_accumulates(w->cpu < QUIET && w->memory < QUIET, wall, &w->quiet_us);
		if (w->busy_us > 0 || w->short_us > 0)
			w->quiet_us = 0;
	}
	w->last = *r;
	w->began = true;
	return workers_judge(w);
}
