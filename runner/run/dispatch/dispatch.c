/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/dispatch/dispatch.h"

#include "base/clock.h"
#include "base/memory.h"
#include "runner/policy/turns.h"
#include "runner/run/dispatch/internal.h"

#include <stdio.h>
#include <stdlib.h>

#define MILLI 1000.0
#define PRICE 0.05 /* the price at which rule_preset()'s times hold unscaled */
/* Dispatch is called once a second.  If it was not called for so long, this process was
 * suspended. */
#define SLEPT_US (10 * USEC_PER_SEC)

void dispatch_init(struct dispatch *d, const struct run_config *cfg, unsigned workers,
		   uint64_t machine_memory, bool continuous, size_t n)
{
	static const enum share_kind kinds[] = {
	    [ALLOCATION_INDEX] = SHARE_INDEX,
	    [ALLOCATION_EQUAL] = SHARE_EQUAL,
	    [ALLOCATION_QUEUE] = SHARE_QUEUE,
	};
	size_t room = n ? n : 1;

	*d = (struct dispatch){
	    .targets = xcalloc(room, sizeof(*d->targets)),
	    .n = n,
	    .turn_us = cfg->turn_us,
	    .machine_memory = machine_memory,
	};
	d->fleet = (struct fleet){
	    .rules = fleet_preset(1),
	    .v = d->targets,
	    .n = n,
	    .items = xcalloc(room, sizeof(*d->fleet.items)),
	    .does = dispatch_does,
	    .arg = d,
	};
	d->fleet.rules.share.kind = kinds[cfg->allocation];
	d->fleet.rules.share.floor = cfg->floor_milli / MILLI;
	d->fleet.rules.hold_us = cfg->hold_us;
	d->fleet.rules.continuous = d->fleet.rules.share.idle = continuous;
	d->began_us = d->looked_us = d->day_us = clock_mono_us();
	chance_seed(&d->fleet.chance, clock_real_us());
	workers_begin(&d->workers, workers);
}

void dispatch_done(struct dispatch *d)
{
	free(d->targets);
	free(d->fleet.items);
}

struct rule dispatch_rule(const struct target_config *cfg)
{
	static const enum rule_kind kinds[] = {
	    [PLATEAU_PRICE] = RULE_PRICE,
	    [PLATEAU_CPU_SILENCE] = RULE_CPU_SILENCE,
	    [PLATEAU_WALL] = RULE_WALL,
	    [PLATEAU_NONE] = RULE_NONE,
	};
	/* A higher price shortens the rule's time constants. */
	struct rule r = rule_preset(PRICE, PRICE / (cfg->plateau.price_milli / MILLI));

	r.kind = kinds[cfg->plateau.rule];
	r.window_us = cfg->plateau.window_us;
	r.cap_us = cfg->plateau.cap_us;
	return r;
}

void dispatch_join(struct dispatch *d, size_t i, const struct target_config *cfg,
		   unsigned strategies, struct fleet_target *main, const char *build)
{
	struct fleet_member m = {
	    .rule = dispatch_rule(cfg),
	    .priority = cfg->priority,
	    .quota = cfg->cpu_milli / MILLI,
	    .strategies = strategies,
	    .first = cfg->part,
	    .main = main,
	    .build = build,
	};

	fleet_join(&d->targets[i], &m);
}

/* --- workers and memory of jobs ---------------------------------------------- */

enum fleet_does dispatch_does(const void *arg, size_t i)
{
	const struct dispatch *d = arg;
	const struct job *j = &d->jobs[i];

	if (j->phase == PHASE_DONE || j->pending != REASON_NONE)
		return FLEET_OUT;
	if (phase_waits(j->phase))
		return FLEET_WAITS;
	return j->intent == INTENT_NONE ? FLEET_RUNS : FLEET_BUSY;
}

size_t dispatch_waiting(const struct dispatch *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		n += d->jobs[i].phase == PHASE_QUEUED || d->jobs[i].phase == PHASE_HELD;
	return n;
}

void dispatch_take(struct dispatch *d, struct job *j, uint64_t turn_us)
{
	j->active = true;
	j->turn_us = turn_us;
	d->busy++;
	d->memory_used += j->cfg->memory;
}

static void dispatch_release(struct dispatch *d, struct job *j)
{
	if (!j->active)
		return;
	j->active = false;
	d->busy--;
	d->memory_used -= j->cfg->memory;
}

/* --- carrying orders out ------------------------------------------------------- */

static void start_job(struct dispatch *d, struct job *j, uint64_t now)
{
	uint64_t used = job_fuzzed_us(j, now) - j->granted_us;

	dispatch_take(d, j, d->fleet.rules.turn_wall_us);
	if (d->fleet.rules.continuous)
		job_start(j, UINT64_MAX / 2);
	else
		job_start(j, j->cfg->max_time_us > used ? j->cfg->max_time_us - used : 0);
}

static void try_next(struct job *j)
{
	const struct strategies *s = &j->fleet->strategies;
	const struct strategy_arm *a = &s->arms[s->now];
	char text[RULE_TEXT_MAX];

	snprintf(text, sizeof(text),
		 "strategy: %s next; %s found %llu edges in %.1f s of this build's time%s",
		 strategy_name(s->next), strategy_name(s->now), (unsigned long long)a->found,
		 (double)a->spent_us / USEC_PER_SEC,
		 strategy_reads_less(s->now) ? "; a later cell may show more" : "");
	job_log(j, text);
	job_pause(j, false);
}

static void end_job(struct job *j, enum fleet_what what)
{
	struct rule_view v = fleet_view(j->fleet);
	enum rule_answer a = what == FLEET_CAP ? RULE_CAP : RULE_STOP;
	enum reason r = what == FLEET_CAP	? REASON_CPU_LIMIT
			: what == FLEET_STARVED ? REASON_STARVED
						: REASON_PLATEAU;
	char text[RULE_TEXT_MAX];

	rule_text(&j->fleet->rule, &v, a, text);
	job_log(j, text);
	job_stop(j, r, false);
}

static void carry_out(struct dispatch *d, const struct fleet_order *o, uint64_t now)
{
	struct job *j = &d->jobs[o->target];

	switch (o->what) {
	case FLEET_START:
		start_job(d, j, now);
		break;
	case FLEET_PAUSE:
	case FLEET_REST:
		job_pause(j, false);
		break;
	case FLEET_TRY:
		try_next(j);
		break;
	case FLEET_REST_ON:
		job_settle(j);
		break;
	case FLEET_PLATEAU:
	case FLEET_CAP:
	case FLEET_STARVED:
		end_job(j, o->what);
		break;
	case FLEET_NOTHING:
		break;
	}
}

/* Gives workers to jobs that were asked to end while they waited: the steps after fuzzing need one.
 */
static void wrap_up(struct dispatch *d, uint64_t now)
{
	bool waits = false;

	for (size_t i = 0; i < d->n; i++) {
		struct job *j = &d->jobs[i];

		if (!job_wraps_up(j))
			continue;
		if (d->busy >= dispatch_workers(d) || !dispatch_fits(d, j)) {
			waits = true;
			continue;
		}
		d->ending_us = 0;
		dispatch_take(d, j, 0);
		job_wrap_up(j);
	}
	if (!waits)
		d->ending_us = 0;
	else if (!d->ending_us)
		d->ending_us = now;
}

/* Whether a running target must leave for a job that waits to wrap up.  Such a job waits longer
 * than a turn if the running targets keep winning their next turns. */
static bool ends_late(const struct dispatch *d, uint64_t now)
{
	bool any = false;

	if (!d->ending_us || now - d->ending_us < d->fleet.rules.turn_wall_us)
		return false;
	for (size_t i = 0; i < d->n; i++) {
		if (dispatch_does(d, i) == FLEET_BUSY)
			return false; /* a target is leaving already */
		any = any || (job_wraps_up(&d->jobs[i]) &&
			      (d->targets[i].fits_after_one || dispatch_fits(d, &d->jobs[i])));
	}
	return any;
}

/* Whether the job's cell is stopping, and its worker is free soon.  A job that ends keeps its
 * worker for triage and merging. */
static bool is_leaving(const struct dispatch *d, const struct job *j)
{
	return j->active && dispatch_does(d, j->index) == FLEET_BUSY && j->phase < PHASE_TRIAGING;
}

static unsigned count_leaving(const struct dispatch *d)
{
	unsigned n = 0;

	for (size_t i = 0; i < d->n; i++)
		n += is_leaving(d, &d->jobs[i]);
	return n;
}

static struct fleet_order dispatch_decide(struct dispatch *d, uint64_t now)
{
	unsigned all = dispatch_workers(d), fuzz = dispatch_fuzzing(d);
	unsigned others = d->busy - fuzz - count_leaving(d); /* merging, or lent */
	struct fleet_room room = {
	    .run = all > others ? all - others : 0,
	    .idle = all > d->busy ? all - d->busy : 0,
	    .calm = d->workers.cpu < WORKERS_BUSY,
	};

	turns_set(&d->fleet,
		  &(struct turns){.turn_us = d->turn_us,
				  .began_us = d->began_us,
				  .deadline_us = d->deadline_us},
		  now, dispatch_places(d));
	dispatch_look_for_room(d);
	if ((dispatch_make_room(d, now) || ends_late(d, now)) && fuzz > 0 && room.run >= fuzz)
		room.run = fuzz - 1;
	return fleet_next(&d->fleet, now, &room);
}

static bool stands(const struct dispatch *d)
{
	return d->paused || d->full;
}

/* Repeats the request to pause.  A job ignored it during a forced dump, and went on with another
 * cell. */
static void ask_again(struct dispatch *d)
{
	for (size_t i = 0; i < d->n; i++) {
		struct job *j = &d->jobs[i];

		if (stands(d) && (j->phase == PHASE_FUZZING || j->phase == PHASE_TRIAGING ||
				  j->phase == PHASE_MERGING || j->phase == PHASE_CHECKING ||
				  j->phase == PHASE_COVERING))
			job_pause(j, true);
		else if (j->phase == PHASE_FUZZING && dispatch_does(d, i) == FLEET_BUSY)
			job_pause(j, false);
	}
}

/* Moves the fleet's times on if this process was suspended: its cells were suspended, too. */
static void dispatch_wake_up(struct dispatch *d, uint64_t now)
{
	if (d->asked_us && now - d->asked_us >= SLEPT_US)
		fleet_slept(&d->fleet, now - d->asked_us);
	d->asked_us = now;
}

void dispatch_next(struct dispatch *d)
{
	struct fleet_order o = {.what = FLEET_NOTHING};
	uint64_t now;

	d->again = true;
	if (d->deciding)
		return;
	d->deciding = true;
	dispatch_wake_up(d, clock_mono_us());
	ask_again(d);
	while (d->again && !stands(d) && !d->frozen) {
		now = clock_mono_us();
		d->again = false;
		wrap_up(d, now);
		if (!d->closed && d->fleet.rules.continuous)
			dispatch_maintain(d, now, false);
		if (!d->closed)
			o = dispatch_decide(d, now);
		carry_out(d, &o, now);
		if (o.what == FLEET_NOTHING && !d->closed && d->fleet.rules.continuous)
			dispatch_maintain(d, now, true);
		d->again = d->again || o.what != FLEET_NOTHING;
		o.what = FLEET_NOTHING;
	}
	d->deciding = false;
}

bool dispatch_disk(struct dispatch *d, bool full)
{
	if (d->full == full)
		return false;
	d->full = full;
	for (size_t i = 0; i < d->n; i++) {
		struct job *j = &d->jobs[i];

		if (full)
			job_pause(j, true);
		else if (!d->closed && !j->off && j->phase == PHASE_DONE && j->uncollected &&
			 j->reason == REASON_DISK_LIMIT)
			dispatch_revive(d, j);
	}
	return true;
}

void dispatch_left(struct dispatch *d, struct job *j)
{
	dispatch_release(d, j);
	if (dispatch_does(d, j->index) == FLEET_WAITS)
		fleet_back(&d->fleet, j->fleet);
}
