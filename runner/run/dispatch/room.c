/* SPDX-License-Identifier: Apache-2.0 */
/* What cells need beside a worker: memory (which target fits, and which must leave for another),
 * and descriptors, processes, ... (fewer cells while one of them is short). */
#include "base/clock.h"
#include "runner/run/dispatch/internal.h"
#include "runner/run/plan.h"

#include <limits.h>

bool dispatch_fits(const struct dispatch *d, const struct job *j)
{
	return d->busy == 0 || plan_admits(d->memory_used, j->cfg->memory, d->machine_memory);
}

/* --- shortage of descriptors, processes, ... -------------------------------------- */

#define SHORT_FIRST_US (1 * USEC_PER_SEC)
#define SHORT_MOST_US  (60 * USEC_PER_SEC)
/* After this time without a shortage, the next shortage begins at the shortest wait. */
#define SHORT_OVER_US (120 * USEC_PER_SEC)
enum { TRIES_WITHOUT_CELLS_MAX = 3 };

/* After each wait one more cell may run. */
unsigned dispatch_workers(const struct dispatch *d)
{
	const struct dispatch_shortage *s = &d->shortage;
	uint64_t more = s->times ? (clock_mono_us() - s->at_us) / s->wait_us : UINT_MAX;

	return s->cells + more < d->workers.now ? s->cells + (unsigned)more : d->workers.now;
}

bool dispatch_short(struct dispatch *d, uint64_t now)
{
	struct dispatch_shortage *s = &d->shortage;

	if (!s->times || now - s->at_us > SHORT_OVER_US)
		*s = (struct dispatch_shortage){.wait_us = SHORT_FIRST_US};
	else if (now - s->at_us >= s->wait_us && s->wait_us < SHORT_MOST_US)
		s->wait_us *= 2; /* cells that failed together count as one try */
	s->times++;
	s->at_us = now;
	s->cells = d->busy;
	s->without_cells = d->busy > 0 ? 0 : s->without_cells + 1;
	return s->without_cells < TRIES_WITHOUT_CELLS_MAX;
}

unsigned dispatch_fuzzing(const struct dispatch *d)
{
	unsigned n = 0;

	for (size_t i = 0; i < d->n; i++)
		n += dispatch_does(d, i) == FLEET_RUNS;
	return n;
}

unsigned dispatch_places(const struct dispatch *d)
{
	uint64_t most = 1, fit, workers = dispatch_workers(d);

	for (size_t i = 0; i < d->n; i++)
		if (dispatch_does(d, i) != FLEET_OUT && d->jobs[i].cfg->memory > most)
			most = d->jobs[i].cfg->memory;
	fit = d->machine_memory / most;
	if (fit > workers)
		fit = workers;
	return fit > 0 ? (unsigned)fit : 1; /* also while a shortage leaves no worker at all */
}

/* The memory that becomes free at least when any one job leaves. */
static uint64_t least_memory(const struct dispatch *d)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < d->n; i++)
		if (d->jobs[i].active && d->jobs[i].cfg->memory < least)
			least = d->jobs[i].cfg->memory;
	return least < d->memory_used ? least : d->memory_used;
}

void dispatch_look_for_room(struct dispatch *d)
{
	uint64_t then = d->memory_used - least_memory(d);

	for (size_t i = 0; i < d->n; i++) {
		const struct job *j = &d->jobs[i];

		fleet_fits(&d->fleet, &d->targets[i], dispatch_fits(d, j),
			   d->busy == 1 || plan_admits(then, j->cfg->memory, d->machine_memory));
	}
}

/* Whether the job would fit if no target fuzzed. */
static bool would_fit(const struct dispatch *d, const struct job *j)
{
	uint64_t used = d->memory_used;

	for (size_t i = 0; i < d->n; i++)
		used -= dispatch_does(d, i) == FLEET_RUNS ? d->jobs[i].cfg->memory : 0;
	return d->busy == dispatch_fuzzing(d) ||
	       plan_admits(used, j->cfg->memory, d->machine_memory);
}

/* Whether the target needs more memory than any one job leaves, and has waited long. */
static bool is_crowded_out(const struct dispatch *d, const struct job *j, uint64_t now)
{
	const struct fleet_target *t = j->fleet;
	uint64_t since = t->turn_began_us ? t->turn_began_us : d->began_us;

	return j->phase == PHASE_QUEUED && !job_wraps_up(j) && t->blocked && !t->fits_after_one &&
	       now > since && now - since > 2 * d->fleet.rules.turn_wall_us;
}

static void find_crowded_out(struct dispatch *d, uint64_t now)
{
	for (size_t i = 0; d->fleet.rules.share.kind != SHARE_QUEUE && i < d->n; i++)
		if (is_crowded_out(d, &d->jobs[i], now) && would_fit(d, &d->jobs[i]))
			d->crowded_out = &d->jobs[i];
}

bool dispatch_make_room(struct dispatch *d, uint64_t now)
{
	const struct fleet_target *t;
	bool leaving = false;

	if (!d->crowded_out)
		find_crowded_out(d, now);
	if (!d->crowded_out)
		return false;
	t = d->crowded_out->fleet;
	if (dispatch_does(d, d->crowded_out->index) != FLEET_WAITS) {
		d->crowded_out = NULL;
		return false;
	}
	for (size_t i = 0; i < d->n; i++) {
		struct fleet_target *other = &d->targets[i];

		leaving = leaving || dispatch_does(d, i) == FLEET_BUSY;
		fleet_fits(&d->fleet, other, other == t && !other->blocked, false);
	}
	fleet_reserve(&d->fleet, d->crowded_out->fleet);
	return t->blocked && !leaving;
}

/* --- lending ------------------------------------------------------------------ */

unsigned dispatch_lend(struct dispatch *d, const struct job *j, unsigned want)
{
	unsigned n = 0;

	while (n < want && dispatch_waiting(d) == 0 && d->busy < dispatch_workers(d) &&
	       plan_admits(d->memory_used, j->cfg->memory, d->machine_memory)) {
		d->memory_used += j->cfg->memory;
		d->busy++;
		n++;
	}
	return n;
}

void dispatch_give_back(struct dispatch *d, const struct job *j, unsigned lent)
{
	d->memory_used -= j->cfg->memory * lent;
	d->busy -= lent;
}

bool dispatch_borrow_memory(struct dispatch *d, uint64_t bytes)
{
	if (bytes > 0 && !plan_admits(d->memory_used, bytes, d->machine_memory))
		return false;
	d->memory_used += bytes;
	return true;
}

void dispatch_return_memory(struct dispatch *d, uint64_t bytes)
{
	d->memory_used -= bytes;
}
