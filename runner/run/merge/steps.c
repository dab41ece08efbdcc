/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a merge. */
#include "base/fs.h"
#include "runner/run/merge/internal.h"

#include <stdio.h>
#include <string.h>

/* --- tasks --------------------------------------------------------------------- */

/* Starts a task; a merge has one task of its own at a time. */
static void run_task(struct merge *m, task_fn *fn, task_done_fn *done)
{
	struct task *t;
	struct err e;

	m->tasking = true;
	if (task_start(m->env.exec.loop, fn, m, done, m, &t, &e) < 0)
		done(m, SLICE(""), e.msg);
}

/* Takes the result of a task.  True: *to holds it.  False: the task failed, and the merge ends. */
static bool take_result(struct merge *m, struct slice result, const char *failed, void *to,
			size_t size)
{
	m->tasking = false;
	if (!failed && result.n == size) {
		memcpy(to, result.p, size);
		return true;
	}
	merge_end_with(m, MERGE_FAILED, "%s", failed ? failed : "a task gave no result");
	return false;
}

/* --- the end -------------------------------------------------------------------- */

static void merge_steps_on_end(void *arg, struct slice result, const char *failed)
{
	struct merge *m = arg;
	struct merge_size s;

	m->tasking = false;
	if (!failed && result.n == sizeof(s) && m->result.verdict != MERGE_MEASURED) {
		memcpy(&s, result.p, sizeof(s));
		m->result.after.files = s.files;
		m->result.after.bytes = s.bytes;
		if (m->dir < 0) { /* the corpus was never listed */
			m->result.before.files = s.files;
			m->result.before.bytes = s.bytes;
		}
	}
	if (!failed && m->put_back)
		m->result.restored = m->n_lost;
	if (failed && !*m->result.why)
		snprintf(m->result.why, sizeof(m->result.why), "%.*s",
			 (int)sizeof(m->result.why) - 1, failed);
	m->over = true;
	merge_advance(m);
}

/* Whether the files of this merge can be removed.  They are kept for a merge that goes on, also
 * after a late failure: the measurements are valid. */
static bool merge_steps_is_over(const struct merge *m)
{
	switch (m->result.verdict) {
	case MERGE_LATE:
	case MERGE_STOPPED:
		return false;
	case MERGE_FAILED:
		return !m->progress;
	case MERGE_REPLACED:
	case MERGE_UNCHANGED:
	case MERGE_CLEANED:
	case MERGE_MEASURED:
	case MERGE_KEPT:
	case MERGE_NOTHING:
	case MERGE_VERDICT_COUNT:
		break;
	}
	return true;
}

static void merge_steps_end(struct merge *m)
{
	m->step = MERGE_END;
	m->discard = merge_steps_is_over(m);
	run_task(m, merge_task_end, merge_steps_on_end);
}

/* --- replace --------------------------------------------------------------------- */

static void on_replaced(void *arg, struct slice result, const char *failed)
{
	struct merge *m = arg;
	struct merge_replaced r;

	if (take_result(m, result, failed, &r, sizeof(r))) {
		/* A stop that came meanwhile does not count. */
		m->ending = false;
		merge_end_with(m, MERGE_REPLACED, "%s", r.why);
		m->result.after = m->chosen;
		m->result.cover = m->cover;
	}
	merge_advance(m);
}

/* --- decide ---------------------------------------------------------------------- */

static void begin_pass(struct merge *m, size_t next, size_t to)
{
	m->step = MERGE_CELLS;
	m->again = false;
	m->next = next;
	m->end = to;
}

void merge_begin_full(struct merge *m, const struct merge_decided *d)
{
	m->full = m->unsteady = true;
	m->round = 0;
	snprintf(m->pass, sizeof(m->pass), "%s", merge_first_pass(true));
	begin_pass(m, d->measure.next, d->measure.end);
}

void merge_end_decided(struct merge *m, const struct merge_decided *d)
{
	if (d->verdict == MERGE_NOTHING && m->n_lost && !m->spec.force) {
		merge_blame_build(m, d->why);
		return;
	}
	merge_end_with(m, d->verdict == MERGE_UNCHANGED && m->n_lost ? MERGE_CLEANED : d->verdict,
		       "%s", d->why);
	if (d->verdict == MERGE_UNCHANGED || d->verdict == MERGE_MEASURED) {
		m->result.after = d->chosen;
		m->result.cover = d->cover;
	} else if (d->verdict == MERGE_KEPT)
		m->result.after = d->all;
}

static void on_decided(void *arg, struct slice result, const char *failed)
{
	struct merge *m = arg;
	struct merge_decided d;

	if (take_result(m, result, failed, &d, sizeof(d)) && !m->ending) {
		m->chosen = d.chosen;
		m->cover = d.cover;
		m->result.before.edges = d.all.edges;
		m->result.before.features = d.all.features;
		m->result.new_inputs = d.new_inputs;
		if (d.to == MERGE_TO_VERIFY) {
			m->round++;
			snprintf(m->pass, sizeof(m->pass), "verify-%u", m->round);
			begin_pass(m, 0, d.shards);
		} else if (d.to == MERGE_TO_FULL)
			merge_begin_full(m, &d);
		else if (d.to == MERGE_TO_REPLACE)
			m->step = MERGE_EXCHANGE;
		else
			merge_end_decided(m, &d);
	}
	merge_advance(m);
}

/* --- stage and measure ------------------------------------------------------------- */

static void on_dealt(void *arg, struct slice result, const char *failed)
{
	struct merge *m = arg;
	struct merge_staged s;

	if (take_result(m, result, failed, &s, sizeof(s)))
		begin_pass(m, s.next, s.end);
	merge_advance(m);
}

static int merge_steps_open_dir(struct merge *m, struct err *e)
{
	return fs_open_dir(m->env.state->dirfd, m->path + strlen(m->env.state->path) + 1, &m->dir,
			   e);
}

static void on_staged(void *arg, struct slice result, const char *failed)
{
	struct merge *m = arg;
	struct merge_staged s;
	struct err e;

	if (take_result(m, result, failed, &s, sizeof(s)) && !m->ending) {
		m->max_len = s.longest;
		m->result.candidates = s.candidates;
		m->result.reused = s.reused;
		m->result.before.files = s.files;
		m->result.before.bytes = s.bytes;
		m->full = s.full;
		m->direct = s.direct;
		snprintf(m->pass, sizeof(m->pass), "%s", merge_first_pass(m->full));
		begin_pass(m, s.next, s.end);
		if (s.candidates == 0)
			merge_end_with(m, MERGE_NOTHING, "%s", *s.note ? s.note : "no inputs");
		else if (merge_steps_open_dir(m, &e) < 0)
			merge_end_with(m, MERGE_FAILED, "%s", e.msg);
	}
	merge_advance(m);
}

static bool merge_steps_any_busy(const struct merge *m)
{
	for (unsigned i = 0; i < m->spec.workers; i++)
		if (m->slots[i].busy)
			return true;
	return false;
}

/* Gives shards to free slots.  A slot that fails at once calls this again. */
static void merge_steps_fill(struct merge *m)
{
	for (unsigned i = 0; i < m->spec.workers && m->next < m->end && !m->ending && !m->halving;
	     i++)
		if (!m->slots[i].busy)
			merge_slot_take(&m->slots[i], m->next++);
}

/* --- the steps ------------------------------------------------------------------- */

static void advance_cells(struct merge *m)
{
	merge_steps_fill(m);
	if (merge_steps_any_busy(m) || m->next < m->end || m->ending)
		return;
	if (m->again && m->round == 0)
		run_task(m, merge_task_deal, on_dealt);
	else if (m->again) /* the chosen inputs were measured once, and do not fit now */
		merge_end_with(m, MERGE_FAILED,
			       "what the chosen inputs reach does not fit the "
			       "disk limit of one cell");
	else {
		m->step = MERGE_DECIDE;
		run_task(m, merge_task_decide, on_decided);
	}
}

static void merge_steps_step(struct merge *m)
{
	if (m->tasking)
		return;
	if (m->ending && m->step != MERGE_END) {
		if (!merge_steps_any_busy(m))
			merge_steps_end(m);
		return;
	}
	switch (m->step) {
	case MERGE_CELLS:
		advance_cells(m);
		break;
	case MERGE_EXCHANGE:
		run_task(m, merge_task_replace, on_replaced);
		break;
	case MERGE_STAGE:
	case MERGE_DECIDE:
	case MERGE_END:
		break; /* the end of a task takes the next step */
	}
}

/* A step that fails at once calls this again from within.  So it takes one step at a time, and
 * frees the merge only in the outermost call. */
void merge_advance(struct merge *m)
{
	m->more = true;
	if (m->inside)
		return;
	m->inside = true;
	while (m->more && !m->over) {
		m->more = false;
		merge_steps_step(m);
	}
	m->inside = false;
	if (m->over)
		merge_finish(m);
}

int merge_begin(struct merge *m, struct err *e)
{
	struct task *t;

	m->tasking = true;
	return task_start(m->env.exec.loop, merge_task_stage, m, on_staged, m, &t, e);
}
