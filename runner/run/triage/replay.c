/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/memory.h"
#include "runner/run/triage/replay_internal.h"

#include <stdio.h>
#include <stdlib.h>

size_t replay_batch(size_t left, unsigned workers)
{
	size_t share = (left + workers - 1) / workers;

	if (share < REPLAY_LEAST)
		share = left < REPLAY_LEAST ? left : REPLAY_LEAST;
	return share < REPLAY_BATCH ? share : REPLAY_BATCH;
}

void replay_leave_out(struct replay *r, const char *why)
{
	if (!*r->sum.why)
		snprintf(r->sum.why, sizeof(r->sum.why), "%.299s", why);
}

void replay_give_up(struct replay *r, const char *why)
{
	if (why)
		replay_leave_out(r, why);
	r->over = true;
}

void replay_step(struct replay *r)
{
	struct err e;

	/* The timer was armed before: arming it again does not allocate. */
	if (loop_set_timer(r->idle, clock_mono_us(), &e) < 0)
		replay_give_up(r, e.msg);
}

static void replay_free(struct replay *r)
{
	for (unsigned i = 0; i < r->spec.workers; i++) {
		source_remove(r->slots[i].watch);
		crash_report_done(&r->slots[i].report);
		crash_report_done(&r->slots[i].doubt.report);
	}
	source_remove(r->idle);
	free(r->slots);
	free(r);
}

/* Gives the slot inputs.  False: there is nothing to do. */
static bool replay_feed(struct slot *s)
{
	struct replay *r = s->r;

	if (r->over)
		return false;
	if (s->at == s->end && r->next < r->spec.n) {
		s->at = r->next;
		s->end = r->next + replay_batch(r->spec.n - r->next, r->spec.workers);
		s->batch = 0;
		r->next = s->end;
	}
	if (s->at < s->single_end)
		replay_single(s);
	else if (s->at < s->end)
		replay_cell(s);
	return s->active;
}

static void replay_on_closed(void *arg)
{
	struct slot *s = arg;

	if (--s->r->closing == 0)
		replay_step(s->r);
}

/* False: no seat has to be closed later. */
static bool close_seats(struct replay *r)
{
	struct trial_seat *seat;

	r->closing = 1; /* a seat may be closed at once */
	for (unsigned i = 0; i < r->spec.workers; i++) {
		seat = r->slots[i].seat;
		r->slots[i].seat = NULL;
		r->closing += seat != NULL;
		if (seat)
			trial_seat_close(seat, replay_on_closed, &r->slots[i]);
	}
	return --r->closing > 0;
}

static void replay_on_idle(void *arg)
{
	struct replay *r = arg;
	bool busy = false;

	for (unsigned i = 0; i < r->spec.workers; i++)
		busy = r->slots[i].active || replay_feed(&r->slots[i]) || busy;
	if (busy || r->closing > 0 || close_seats(r))
		return;
	r->sum.left_out = r->spec.n - r->sum.passed - r->sum.failed;
	r->sum.wall_us = clock_mono_us() - r->began_us;
	r->spec.done(r->spec.arg, &r->sum);
	replay_free(r);
}

static int make_slots(struct replay *r, struct err *e)
{
	struct loop *l = r->env->exec.loop;
	int rc = 0;

	r->slots = xcalloc(r->spec.workers, sizeof(*r->slots));
	for (unsigned i = 0; rc == 0 && i < r->spec.workers; i++) {
		struct slot *s = &r->slots[i];

		s->r = r;
		s->index = r->spec.index + i;
		/* The timer has no effect until a cell runs. */
		rc = loop_add_timer(l, r->began_us, replay_stuck, s, &s->watch, e);
	}
	return rc;
}

int replay_start(const struct trial_env *env, const struct replay_spec *spec, struct replay **ret,
		 struct err *e)
{
	struct replay *r = xcalloc(1, sizeof(*r));
	int rc;

	*r = (struct replay){.env = env, .spec = *spec, .began_us = clock_mono_us()};
	rc = make_slots(r, e);
	if (rc == 0)
		rc = loop_add_timer(env->exec.loop, r->began_us, replay_on_idle, r, &r->idle, e);
	if (rc < 0) {
		replay_free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

uint64_t replay_begun(const struct replay *r)
{
	uint64_t n = r->sum.passed + r->sum.failed;

	for (unsigned i = 0; i < r->spec.workers; i++)
		n += r->slots[i].exec ? r->slots[i].started : 0;
	return n;
}

void replay_stop(struct replay *r, const char *why)
{
	r->sum.stopped |= !why;
	replay_give_up(r, why);
	for (unsigned i = 0; i < r->spec.workers; i++) {
		if (r->slots[i].exec)
			exec_stop(r->slots[i].exec);
		if (r->slots[i].trial)
			trial_stop(r->slots[i].trial);
	}
}
