/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of users for a target of a living run. */
#include "base/clock.h"
#include "runner/run/dispatch/internal.h"

#include <errno.h>

bool dispatch_has_turn(const struct job *j)
{
	return j->phase != PHASE_DONE && j->pending == REASON_NONE && j->intent == INTENT_NONE &&
	       !phase_waits(j->phase);
}

void dispatch_stop(struct dispatch *d, struct job *j, bool now)
{
	(void)d;
	j->off = true;
	j->wanted = false;
	if (j->phase == PHASE_DONE)
		return;
	if (now)
		job_kill(j, REASON_STOPPED);
	else
		job_stop(j, REASON_STOPPED, false);
}

/* The job waits, is the next to start, and gets new limits. */
static void dispatch_user_choose(struct dispatch *d, struct job *j)
{
	j->granted_us = job_fuzzed_us(j, clock_mono_us());
	fleet_choose(&d->fleet, j->fleet);
	job_settle(j);
}

void dispatch_start(struct dispatch *d, struct job *j)
{
	j->off = false;
	if (j->phase == PHASE_DONE) {
		job_revive(j);
		dispatch_user_choose(d, j);
	} else if (j->pending != REASON_NONE) {
		j->wanted = true;
	} else if (!dispatch_has_turn(j)) {
		dispatch_user_choose(d, j);
	}
	dispatch_next(d);
}

void dispatch_ended(struct dispatch *d, struct job *j)
{
	if (!j->wanted || j->phase != PHASE_DONE)
		return;
	j->wanted = false;
	if (!d->closed)
		dispatch_start(d, j);
}

int dispatch_skip(struct dispatch *d, struct job *j, struct err *e)
{
	if (j->phase == PHASE_DONE)
		return err_set(e, EALREADY, "it has ended (%s)", reason_name(j->reason));
	if (j->pending != REASON_NONE)
		return err_set(e, EALREADY, "it is ending (%s)", reason_name(j->pending));
	fleet_pass(&d->fleet, j->fleet);
	if (dispatch_has_turn(j))
		job_pause(j, false);
	return 0;
}
