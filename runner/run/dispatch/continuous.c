/* SPDX-License-Identifier: Apache-2.0 */
/* Continuous runs: daily limits, new builds, and maintenance of corpora and crashes. */
#include "base/clock.h"
#include "runner/run/dispatch/internal.h"

#define DAY_US	(86400 * USEC_PER_SEC)
#define LOOK_US (10 * USEC_PER_SEC)

static bool dispatch_maintenance_is_due(const struct dispatch *d, const struct job *j, uint64_t now)
{
	return now - (j->maintained_at_us ? j->maintained_at_us : d->began_us) >= DAY_US;
}

void dispatch_maintain(struct dispatch *d, uint64_t now, bool idle)
{
	if (d->crowded_out && !idle)
		return; /* a target waits until memory is free */
	for (size_t i = 0; i < d->n && d->busy < dispatch_workers(d); i++) {
		struct job *j = &d->jobs[i];

		if (!job_needs_maintenance(j) || !dispatch_fits(d, j) ||
		    !(dispatch_maintenance_is_due(d, j, now) ||
		      (idle && j->phase == PHASE_RESTING)))
			continue;
		dispatch_take(d, j, 0);
		job_maintain(j);
	}
}

void dispatch_revive(struct dispatch *d, struct job *j)
{
	job_revive(j);
	fleet_wake(&d->fleet, j->fleet);
	job_settle(j);
}

/* The job fuzzes the old build: it pauses, and starts first with the new build. */
static void change_build(struct job *j)
{
	fleet_outdated(j->fleet);
	job_pause(j, false);
}

/* A binary that is still being written may fail to start.  The next look sees that it has changed
 * again. */
static void look_for_builds(struct dispatch *d)
{
	for (size_t i = 0; i < d->n; i++) {
		struct job *j = &d->jobs[i];
		bool runs = j->phase == PHASE_FUZZING && dispatch_does(d, i) == FLEET_RUNS;

		if ((!phase_waits(j->phase) && j->phase != PHASE_DONE && !runs) || j->off ||
		    job_wraps_up(j) || !job_other_binary(j))
			continue;
		if (j->phase == PHASE_DONE)
			job_revive(j);
		fleet_wake(&d->fleet, j->fleet);
		job_settle(j);
		if (runs)
			change_build(j);
	}
}

/* An uncontended target keeps its cell.  After a day its finds are saved and its corpus is
 * merged. */
static void end_long_cells(struct dispatch *d, uint64_t now)
{
	for (size_t i = 0; i < d->n; i++) {
		struct job *j = &d->jobs[i];

		if (j->phase != PHASE_FUZZING || dispatch_does(d, i) != FLEET_RUNS ||
		    now - j->began_us < DAY_US)
			continue;
		job_pause(j, false);
	}
}

/* Limits that count per day, and failures that the machine may have caused. */
static bool is_limit(enum reason r)
{
	return r == REASON_CRASHED || r == REASON_CRASH_LOOP || r == REASON_OOM_KILLED ||
	       r == REASON_PIDS_LIMIT || r == REASON_DISK_LIMIT || r == REASON_STARTUP_FAILED;
}

/* Each day gets the limits of a whole run. */
static void begin_day(struct dispatch *d)
{
	fleet_new_day(&d->fleet);
	for (size_t i = 0; i < d->n; i++) {
		struct job *j = &d->jobs[i];

		job_settle(j);
		job_new_day(j);
		if (j->phase == PHASE_DONE && !j->off && is_limit(j->reason))
			dispatch_revive(d, j);
	}
}

void dispatch_second(struct dispatch *d, uint64_t now)
{
	if (!d->fleet.rules.continuous || d->closed)
		return;
	if (now - d->looked_us >= LOOK_US) {
		d->looked_us = now;
		look_for_builds(d);
		end_long_cells(d, now);
	}
	if (now - d->day_us >= DAY_US) {
		d->day_us = now;
		begin_day(d);
	}
}
