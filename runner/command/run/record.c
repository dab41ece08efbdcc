/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/run/record.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/task.h"
#include "runner/state/history.h"
#include "runner/status/summary.h"

#define DAY_US	    (86400 * USEC_PER_SEC)
#define WAIT_US	    (30 * USEC_PER_SEC)
#define SUMMARY_MAX (256 << 20)

/* The files at the end of a run, written to disk together. */
struct end_of_run {
	struct state *state;
	const struct run_view *view;
	struct fs_batch batch;
};

static int write_json(struct end_of_run *o, int dirfd, const char *name, const json_t *j,
		      struct err *e)
{
	_autofree_ char *text = NULL;
	int r = json_print(j, 2, &text, e);

	return r < 0 ? r : fs_batch_replace(&o->batch, dirfd, name, slice_of(text), e);
}

static int write_summary(struct end_of_run *o, const struct run_dirs *d, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(SUMMARY_MAX);
	int r = summary_print(o->view, &text, e);

	return r < 0 ? r
		     : fs_batch_replace(&o->batch, d->logs, "summary.json", buf_slice(&text), e);
}

static int append_run(struct end_of_run *o, struct err *e)
{
	_autojson_ json_t *j = summary_run_line(o->view);

	return state_append_history(o->state, &o->batch, "run_history.jsonl", j, e);
}

static int write_stats(struct end_of_run *o, const struct run_dirs *d, const struct target_row *row,
		       struct err *e)
{
	_autofree_ char *name = xasprintf("%s.stats", row->name);
	_autojson_ json_t *j = summary_target_json(row);

	return write_json(o, d->logs, name, j, e);
}

static int append_target(struct end_of_run *o, const struct target_row *row, uint64_t real_us,
			 struct err *e)
{
	_autofree_ char *name = NULL;
	_autojson_ json_t *j = summary_target_line(o->view, row, real_us);
	int r = history_target_name(row->name, &name, e);

	return r < 0 ? r : state_append_history(o->state, &o->batch, name, j, e);
}

/* summary.json is enough for a target that only waited. Two more files for each of 2,000 targets
 * would take seconds. */
int record_run(struct state *s, const struct run_dirs *d, const struct run_view *v, struct err *e)
{
	struct end_of_run o = {.state = s, .view = v};
	struct err unsaved;
	int r = write_summary(&o, d, e);

	if (append_run(&o, e) < 0)
		r = err_code(e);
	for (size_t i = 0; i < v->n_rows; i++) {
		if (summary_waited(&v->rows[i]))
			continue;
		if (write_stats(&o, d, &v->rows[i], e) < 0)
			r = err_code(e);
		if (append_target(&o, &v->rows[i], v->ended_real_us, e) < 0)
			r = err_code(e);
	}
	if (fs_batch_end(&o.batch, &unsaved) < 0) {
		*e = unsaved;
		r = err_code(e);
	}
	return r;
}

static int append_day(void *arg, struct buf *out, struct err *e)
{
	const struct record_days *d = arg;
	struct end_of_run o = {.state = d->state, .view = d->view};
	struct err unsaved;
	int r = 0;

	(void)out;
	for (size_t i = 0; i < o.view->n_rows; i++)
		if (!summary_waited(&o.view->rows[i]) &&
		    append_target(&o, &o.view->rows[i], clock_real_us(), e) < 0)
			r = err_code(e);
	if (fs_batch_end(&o.batch, &unsaved) < 0) {
		*e = unsaved;
		r = err_code(e);
	}
	return r;
}

static void on_day(void *arg, struct slice result, const char *failed)
{
	struct record_days *d = arg;

	(void)result;
	d->task = NULL;
	if (failed)
		LOG(LOG_WARN, "history", f_str("error", failed));
}

void record_second(struct record_days *d, const struct run_view *v)
{
	struct err e;

	if (!v->continuous || d->task || v->elapsed_us < d->noted_us + DAY_US)
		return;
	d->noted_us = v->elapsed_us;
	d->view = v;
	if (task_start(d->loop, append_day, d, on_day, d, &d->task, &e) < 0)
		on_day(d, SLICE(""), e.msg);
}

void record_days_done(struct record_days *d)
{
	if (d->task)
		task_finish(d->task, clock_mono_us() + WAIT_US);
}
