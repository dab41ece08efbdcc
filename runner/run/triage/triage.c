/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a triage, and the replays that they start. */
#include "base/clock.h"
#include "base/memory.h"
#include "runner/run/triage/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The wait until the next try to get memory for a symbolizer. */
#define LATER_US (1 * USEC_PER_SEC)

void finding_done(struct finding *f)
{
	crash_report_done(&f->report);
	crash_report_done(&f->cell_report);
	kept_done(&f->kept);
	free(f->output);
	*f = (struct finding){0};
}

void finding_keep_output(struct finding *f, struct slice text)
{
	free(f->output);
	f->output = xmalloc(text.n);
	memcpy(f->output, text.p, text.n);
	f->n_output = text.n;
}

bool triage_path(const struct triage *t, const char *relative, char out[4096])
{
	int n = snprintf(out, 4096, "%s/%s", t->env->state->path, relative);

	return n > 0 && n < 4096;
}

void triage_give_up(struct triage *t, const char *why)
{
	if (!*t->sum.note)
		snprintf(t->sum.note, sizeof(t->sum.note), "%.199s", why);
	t->stage++;
	t->listed = false;
}

void triage_return_memory(struct triage *t)
{
	if (t->borrowed)
		t->env->return_memory(t->env->arg, t->borrowed);
	t->borrowed = 0;
}

static void on_replayed(void *arg, struct replay_end *end)
{
	struct triage *t = arg;

	triage_return_memory(t);
	t->replay = NULL;
	t->done(t, end);
}

static bool triage_borrow(struct triage *t)
{
	uint64_t bytes = t->spec.cfg->symbolizer_memory;

	if (!t->env->borrow_memory)
		return true;
	if (!t->env->borrow_memory(t->env->arg, bytes))
		return false;
	t->borrowed = bytes;
	return true;
}

/* Tries again a little later, from the loop. */
static int wait_for_memory(struct triage *t, const char *path, replay_done_fn *done, struct err *e)
{
	t->later.path = path;
	t->later.done = done;
	return loop_set_timer(t->idle, clock_mono_us() + LATER_US, e);
}

/* The seat for a replay; NULL: the replay has a cell of its own.  Replays with names are few, and
 * take much memory.  Passes that prove a fix must come from new cells. */
static struct replay_seat *seat_for(struct triage *t, bool symbolize)
{
	bool alone = symbolize || t->stage == STAGE_CHECK;
	struct err e;

	if (alone && t->seat)
		replay_seat_clear(t->seat); /* a worker has one cell at a time */
	if (!alone && !t->seat && replay_seat_new(t->work, t->spec.index, &t->seat, &e) < 0)
		t->seat = NULL; /* each replay has a cell of its own */
	return alone ? NULL : t->seat;
}

bool triage_ub_goes_on(const struct known_crash *c)
{
	return c && *c->kind && strcmp(c->kind, crash_kind_name(CRASH_UBSAN)) != 0;
}

bool triage_goes_past_ub(const struct triage *t)
{
	const struct ledger *l = books_ledger(t->env->books);
	const struct known_crash *c = NULL;

	if (t->stage == STAGE_QUEUE)
		return t->f.cell_report.found &&
		       (t->f.behind || t->f.cell_report.kind != CRASH_UBSAN);
	if (t->stage == STAGE_CHECK)
		c = t->check.asked.input;
	if (t->stage == STAGE_MINIMISE)
		c = ledger_find_entry(l, t->minimise.signature, t->spec.target->name);
	return triage_ub_goes_on(c);
}

int triage_replay(struct triage *t, const char *path, bool symbolize, replay_done_fn *done,
		  struct err *e)
{
	struct replay_spec s = {
	    .target = t->spec.target,
	    .cfg = t->spec.cfg,
	    .index = t->spec.index,
	    .input = path,
	    .seat = seat_for(t, symbolize),
	    .symbolize = symbolize,
	    .ub_goes_on = triage_goes_past_ub(t),
	    .until_us = t->end_us,
	    .done = on_replayed,
	    .arg = t,
	};
	int r;

	if (symbolize && !triage_borrow(t))
		return wait_for_memory(t, path, done, e);
	t->done = done;
	t->sum.replays++;
	r = replay_start(&t->env->replay, &s, &t->replay, e);
	if (r < 0)
		triage_return_memory(t);
	return r;
}

void triage_name_and_note(struct triage *t)
{
	bool wanted = triage_wants_names(t);
	struct err e;

	if (wanted && triage_borrow(t))
		triage_symbolize(t);
	else if (!wanted || wait_for_memory(t, t->f.path, NULL, &e) < 0)
		triage_note(t);
}

/* Starts the replay that waits for memory.  False: there is none. */
static bool try_later(struct triage *t)
{
	const char *path = t->later.path;
	struct err e;

	if (!path)
		return false;
	t->later.path = NULL;
	if (!t->later.done)
		triage_name_and_note(t);
	else if (triage_replay(t, path, true, t->later.done, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
	}
	return true;
}

void triage_next(struct triage *t)
{
	struct err e;

	/* The timer was armed before: arming it again does not allocate. */
	if (loop_set_timer(t->idle, clock_mono_us(), &e) < 0)
		triage_give_up(t, e.msg);
}

void triage_list(struct triage *t,
		 bool (*wanted)(const struct triage *t, const struct known_crash *c))
{
	const struct ledger *l = books_ledger(t->env->books);

	strv_done(&t->names);
	t->at = 0;
	t->listed = true;
	for (size_t i = 0; i < ledger_count(l); i++)
		if (wanted(t, ledger_at(l, i)))
			strv_push(&t->names, ledger_at(l, i)->signature);
}

/* --- the stages ----------------------------------------------------------- */

static void triage_finish(void *arg)
{
	struct triage *t = arg;
	struct replay_seat *seat = t->seat;
	struct seat *engine = t->engine.seat;

	t->seat = NULL;
	if (seat) {
		replay_seat_close(seat, triage_finish, t);
		return;
	}
	t->engine.seat = NULL;
	if (engine) {
		seat_close(engine, triage_finish, t);
		return;
	}
	t->sum.left = triage_queue_left(t);
	strv_done(&t->names);
	finding_done(&t->f);
	triage_minimise_done(t);
	source_remove(t->idle);
	source_remove(t->until);
	t->spec.done(t->spec.arg, &t->sum);
	free(t);
}

static bool triage_wanted(const struct triage *t)
{
	static const unsigned flags[] = {
	    [STAGE_CHECK] = TRIAGE_CHECK,
	    [STAGE_QUEUE] = TRIAGE_QUEUE,
	    [STAGE_MINIMISE] = TRIAGE_MINIMISE,
	};

	return t->spec.stages & flags[t->stage];
}

static bool stage_step(struct triage *t)
{
	switch (t->stage) {
	case STAGE_CHECK:
		return triage_check_step(t);
	case STAGE_QUEUE:
		return triage_queue_step(t);
	case STAGE_MINIMISE:
		return triage_minimise_step(t);
	case STAGE_END:
		break;
	}
	return false;
}

static void triage_on_idle(void *arg)
{
	struct triage *t = arg;

	if (triage_minimise_cut(t))
		return;
	if (t->stopping || clock_mono_us() >= t->end_us) {
		if (t->stage == STAGE_CHECK && t->listed)
			t->sum.unchecked = t->names.n - t->at;
		t->stage = STAGE_END;
	}
	if (t->stage < STAGE_END && try_later(t))
		return;
	while (t->stage < STAGE_END) {
		if (triage_wanted(t) && stage_step(t))
			return; /* a step is under way, and calls triage_next() */
		t->stage++;
		t->listed = false;
	}
	t->ending = true;
	if (t->saving == 0)
		triage_finish(t);
}

static void on_until(void *arg)
{
	triage_stop(arg);
}

int triage_start(const struct triage_env *env, const struct triage_spec *spec, struct triage **ret,
		 struct err *e)
{
	struct triage *t = xcalloc(1, sizeof(*t));
	uint64_t now = clock_mono_us();
	int r;

	t->env = env;
	t->spec = *spec;
	snprintf(t->work, sizeof(t->work), "%s", spec->work);
	t->end_us = now + spec->budget_us;
	r = loop_add_timer(env->replay.exec.loop, now, triage_on_idle, t, &t->idle, e);
	if (r == 0 && spec->until_us)
		r = loop_add_timer(env->replay.exec.loop, spec->until_us, on_until, t, &t->until,
				   e);
	if (r < 0) {
		source_remove(t->idle);
		free(t);
		return r;
	}
	*ret = t;
	return 0;
}

uint64_t triage_replays(const struct triage *t)
{
	return t->sum.replays;
}

void triage_stop(struct triage *t)
{
	t->stopping = true;
	if (t->replay)
		replay_stop(t->replay);
	if (t->engine.exec)
		exec_stop(t->engine.exec);
	triage_symbolize_stop(t);
}
