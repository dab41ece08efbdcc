/* SPDX-License-Identifier: Apache-2.0 */
/* A merge: its start, the order of its steps, and its end. */
#include "runner/run/merge/merge.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "runner/run/merge/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define TICK_US USEC_PER_SEC

static void merge_free(struct merge *m)
{
	source_remove(m->tick);
	for (unsigned i = 0; i < m->spec.workers; i++)
		merge_slot_done(&m->slots[i]);
	free(m->slots);
	free(m->path);
	free(m->seeds);
	free(m->lost);
	if (m->dir >= 0)
		close(m->dir);
	free(m);
}

uint64_t merge_time_left(const struct merge *m)
{
	uint64_t now = clock_mono_us();

	return m->deadline_us > now ? m->deadline_us - now : 0;
}

void merge_end_with(struct merge *m, enum merge_verdict v, const char *fmt, ...)
{
	va_list ap;

	if (m->ending)
		return;
	m->ending = true;
	m->result.verdict = v;
	va_start(ap, fmt);
	vsnprintf(m->result.why, sizeof(m->result.why), fmt, ap);
	va_end(ap);
	for (char *c = m->result.why; *c; c++) /* a path in the text may have any bytes */
		if (*c < ' ' || *c == 0x7f)
			*c = '?';
	for (unsigned i = 0; i < m->spec.workers; i++)
		merge_slot_stop(&m->slots[i]);
}

void merge_blame_build(struct merge *m, const char *why)
{
	m->put_back = true;
	merge_end_with(m, MERGE_KEPT, "%s: the corpus stays as it is", why);
}

static bool merge_is_broken(const struct merge *m)
{
	return !m->spec.force && m->n_lost > MERGE_LOST_LEAST &&
	       m->n_lost > m->result.before.files / MERGE_LOST_SHARE;
}

bool merge_bad_one(struct merge *m, const struct merge_bad *bad)
{
	if (*bad->lost && m->n_lost < MERGE_BAD_MAX)
		memcpy(m->lost[m->n_lost++], bad->lost, STORE_NAME);
	m->slow = m->slow || bad->slow;
	m->result.bad++;
	if (merge_is_broken(m))
		merge_blame_build(m, "this build fails on too many inputs");
	else if (m->result.bad >= MERGE_BAD_MAX)
		merge_end_with(m, MERGE_FAILED, "%d bad inputs: the next merge goes on after them",
			       MERGE_BAD_MAX);
	return !m->ending;
}

/* The last step has ended: calls spec.done and frees m. */
static void merge_finish(struct merge *m)
{
	m->result.wall_us = clock_mono_us() - m->began_us;
	m->spec.done(m->spec.arg, &m->result);
	merge_free(m);
}

/* --- tasks --------------------------------------------------------------------- */

/* Starts a task; a merge has one task of its own at a time. */
static void merge_run_task(struct merge *m, task_fn *fn, task_done_fn *done)
{
	struct task *t;
	struct err e;

	m->tasking = true;
	if (task_start(m->env.exec.loop, fn, m, done, m, &t, &e) < 0)
		done(m, SLICE(""), e.msg);
}

/* Takes the result of a task.  True: *to holds it.  False: the task failed, and the merge ends. */
static bool merge_take_result(struct merge *m, struct slice result, const char *failed, void *to,
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

static void merge_on_ended(void *arg, struct slice result, const char *failed)
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
static bool merge_is_over(const struct merge *m)
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

static void merge_end(struct merge *m)
{
	m->step = MERGE_END;
	m->discard = merge_is_over(m);
	merge_run_task(m, merge_task_end, merge_on_ended);
}

/* --- replace --------------------------------------------------------------------- */

static void merge_on_replaced(void *arg, struct slice result, const char *failed)
{
	struct merge *m = arg;
	struct merge_replaced r;

	if (merge_take_result(m, result, failed, &r, sizeof(r))) {
		/* A stop that came meanwhile does not count. */
		m->ending = false;
		merge_end_with(m, MERGE_REPLACED, "%s", r.why);
		m->result.after = m->chosen;
		m->result.cover = m->cover;
	}
	merge_advance(m);
}

/* --- decide ---------------------------------------------------------------------- */

static void merge_begin_pass(struct merge *m, size_t next, size_t to)
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
	merge_begin_pass(m, d->measure.next, d->measure.end);
}

void merge_end_decided(struct merge *m, const struct merge_decided *d)
{
	if (d->verdict == MERGE_NOTHING && m->n_lost && !m->spec.force) {
		merge_blame_build(m, d->why);
		return;
	}
	merge_end_with(m, d->verdict == MERGE_UNCHANGED && m->n_lost ? MERGE_CLEANED : d->verdict,
		       "%s", d->why);
	m->put_back |= d->blames_build;
	if (d->verdict == MERGE_UNCHANGED || d->verdict == MERGE_MEASURED) {
		m->result.after = d->chosen;
		m->result.cover = d->cover;
	} else if (d->verdict == MERGE_KEPT)
		m->result.after = d->all;
}

static void merge_on_decided(void *arg, struct slice result, const char *failed)
{
	struct merge *m = arg;
	struct merge_decided d;

	if (merge_take_result(m, result, failed, &d, sizeof(d)) && !m->ending) {
		m->chosen = d.chosen;
		m->cover = d.cover;
		m->result.before.edges = d.all.edges;
		m->result.before.features = d.all.features;
		m->result.new_inputs = d.new_inputs;
		if (d.to == MERGE_TO_VERIFY) {
			m->round++;
			snprintf(m->pass, sizeof(m->pass), "verify-%u", m->round);
			merge_begin_pass(m, 0, d.shards);
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

static void merge_on_dealt(void *arg, struct slice result, const char *failed)
{
	struct merge *m = arg;
	struct merge_staged s;

	if (merge_take_result(m, result, failed, &s, sizeof(s)))
		merge_begin_pass(m, s.next, s.end);
	merge_advance(m);
}

static int merge_open_dir(struct merge *m, struct err *e)
{
	return fs_open_dir(m->env.state->dirfd, m->path + strlen(m->env.state->path) + 1, &m->dir,
			   e);
}

static void merge_on_staged(void *arg, struct slice result, const char *failed)
{
	struct merge *m = arg;
	struct merge_staged s;
	struct err e;

	if (merge_take_result(m, result, failed, &s, sizeof(s)) && !m->ending) {
		m->max_len = s.longest;
		m->result.candidates = s.candidates;
		m->result.reused = s.reused;
		m->result.before.files = s.files;
		m->result.before.bytes = s.bytes;
		m->full = s.full;
		m->direct = s.direct;
		snprintf(m->pass, sizeof(m->pass), "%s", merge_first_pass(m->full));
		merge_begin_pass(m, s.next, s.end);
		if (s.candidates == 0)
			merge_end_with(m, MERGE_NOTHING, "%s", *s.note ? s.note : "no inputs");
		else if (merge_open_dir(m, &e) < 0)
			merge_end_with(m, MERGE_FAILED, "%s", e.msg);
	}
	merge_advance(m);
}

static bool merge_any_busy(const struct merge *m)
{
	for (unsigned i = 0; i < m->spec.workers; i++)
		if (m->slots[i].busy)
			return true;
	return false;
}

/* Gives shards to free slots.  A slot that fails at once calls this again. */
static void merge_fill_slots(struct merge *m)
{
	for (unsigned i = 0; i < m->spec.workers && m->next < m->end && !m->ending && !m->halving;
	     i++)
		if (!m->slots[i].busy)
			merge_slot_take(&m->slots[i], m->next++);
}

/* --- the steps ------------------------------------------------------------------- */

static void merge_advance_cells(struct merge *m)
{
	merge_fill_slots(m);
	if (merge_any_busy(m) || m->next < m->end || m->ending)
		return;
	if (m->again && m->round == 0)
		merge_run_task(m, merge_task_deal, merge_on_dealt);
	else if (m->again) /* the chosen inputs were measured once, and do not fit now */
		merge_end_with(m, MERGE_FAILED,
			       "what the chosen inputs reach does not fit the "
			       "disk limit of one cell");
	else {
		m->step = MERGE_DECIDE;
		merge_run_task(m, merge_task_decide, merge_on_decided);
	}
}

static void merge_step(struct merge *m)
{
	if (m->tasking)
		return;
	if (m->ending && m->step != MERGE_END) {
		if (!merge_any_busy(m))
			merge_end(m);
		return;
	}
	switch (m->step) {
	case MERGE_CELLS:
		merge_advance_cells(m);
		break;
	case MERGE_EXCHANGE:
		merge_run_task(m, merge_task_replace, merge_on_replaced);
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
		merge_step(m);
	}
	m->inside = false;
	if (m->over)
		merge_finish(m);
}

/* Starts the first step.  No callback comes before this returns. */
static int merge_begin(struct merge *m, struct err *e)
{
	struct task *t;

	m->tasking = true;
	return task_start(m->env.exec.loop, merge_task_stage, m, merge_on_staged, m, &t, e);
}

/* --- start and stop -------------------------------------------------------- */

static void merge_check_disk(struct merge *m)
{
	struct statvfs v;

	if (fstatvfs(m->env.state->dirfd, &v) == 0 &&
	    (uint64_t)v.f_bavail * v.f_frsize < m->env.disk_reserve)
		merge_end_with(m, MERGE_FAILED,
			       "less than run.disk_reserve is free: make room, or lower it");
}

static void merge_on_tick(void *arg)
{
	struct merge *m = arg;
	uint64_t now = clock_mono_us();
	struct err e;

	for (unsigned i = 0; i < m->spec.workers; i++)
		merge_slot_tick(&m->slots[i], now);
	if (m->step == MERGE_CELLS)
		merge_check_disk(m);
	if (loop_set_timer(m->tick, now + TICK_US, &e) < 0)
		merge_end_with(m, MERGE_FAILED, "%s", e.msg); /* a hang would not be seen */
}

static int merge_init(struct merge *m, struct err *e)
{
	m->slots = xcalloc(m->spec.workers, sizeof(*m->slots));
	m->lost = xcalloc(MERGE_BAD_MAX, sizeof(*m->lost));
	m->path = xasprintf("%s/merge/%s", m->env.state->path, m->spec.target->name);
	if (m->spec.seeds)
		m->seeds = xstrdup(m->spec.seeds);
	for (unsigned i = 0; i < m->spec.workers; i++)
		m->slots[i] = (struct merge_slot){.m = m, .number = i};
	m->began_us = clock_mono_us();
	m->deadline_us = m->began_us + m->spec.budget_us;
	return loop_add_timer(m->env.exec.loop, m->began_us + TICK_US, merge_on_tick, m, &m->tick,
			      e);
}

int merge_start(const struct merge_env *env, const struct merge_spec *spec, struct merge **ret,
		struct err *e)
{
	struct merge *m = xcalloc(1, sizeof(*m));
	int r;

	if (!spec->target->engine->measure) {
		free(m);
		return err_set(e, ENOTSUP, "%s does not measure inputs: the corpus stays as it is",
			       spec->target->engine->name);
	}
	*m = (struct merge){.env = *env, .spec = *spec, .dir = -1};
	m->result.verdict = MERGE_VERDICT_COUNT;
	r = merge_init(m, e);
	if (r == 0)
		r = merge_begin(m, e);
	if (r < 0) {
		merge_free(m);
		return r;
	}
	*ret = m;
	return 0;
}

void merge_stop(struct merge *m)
{
	merge_end_with(m, MERGE_STOPPED, "stopped");
}
