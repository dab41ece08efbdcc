/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a run, and of the list of runs. */
#include "runner/serve/model/model.h"

#include "base/cleanup.h"
#include "runner/state/series.h"
#include "runner/status/survey/survey.h"

#include <errno.h>
#include <string.h>

/* --- runs without a summary ----------------------------------------------- */

/* The run lives but does not answer, it did not complete, or the summary is damaged.  The data
 * comes from the history of runs and the curves of its targets. */

/* The row of a run that is not in the history (yet).  A damaged summary shows only that the run
 * ended. */
static json_t *lost_row_of(const struct serve_site *s, const char *run, bool damaged)
{
	const char *status = damaged			       ? NULL
			     : survey_run_lives(s->state, run) ? "running"
							       : "unfinished";

	return json_pack("{s:s, s:s*}", "run", run, "status", status);
}

static int lost_row(struct serve_site *s, const char *run, bool damaged, json_t **ret,
		    struct err *e)
{
	_autojson_ json_t *lines = NULL, *line = NULL;
	uint64_t bad;
	int r = site_runs(s, MODEL_RUNS, &lines, &bad, e);

	for (size_t i = 0; r == 0 && !line && i < json_array_size(lines); i++)
		if (strcmp(get_text(json_array_get(lines, i), "run"), run) == 0)
			line = json_incref(json_array_get(lines, i));
	/* A lost run gets its line in the history from the next run. */
	if (!line)
		line = lost_row_of(s, run, damaged);
	if (r < 0)
		return r;
	*ret = row_run(s, line);
	return 0;
}

/* The row and the targets of a run without a usable summary; damaged: the summary exists but is
 * damaged.  -ENOENT: nothing of the run exists. */
static int run_without_summary(struct serve_site *s, const char *run, bool damaged,
			       json_t **ret_row, json_t **ret_targets, struct err *e)
{
	_autojson_ json_t *row = NULL;
	int r;

	if (!site_run_kept(s, run))
		return err_set(e, ENOENT, "no such run");
	r = lost_row(s, run, damaged, &row, e);
	if (r == 0)
		r = series_left(s->state, run, MODEL_RUN_TARGETS, ret_targets, e);
	if (r == 0)
		*ret_row = json_incref(row);
	return r;
}

/* --- all runs, and a run -------------------------------------------------- */

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { RUN_CRASHES = 400 };

int model_runs(struct serve_site *s, const char *name, json_t **ret, struct err *e)
{
	_autojson_ json_t *m = json_object();
	uint64_t damaged = 0, total = 0;
	json_t *rows = NULL;
	int r = model_begin(s, m, e);

	(void)name;
	if (r == 0)
		r = rows_runs(s, MODEL_RUNS, &rows, &damaged, e);
	if (r < 0)
		return r;
	r = runs_total(s, rows, damaged, &total, e);
	make_number(m, "total", total);
	make_set(m, "runs", rows);
	make_number(m, "damaged", damaged);
	if (r == 0)
		*ret = take_ptr(&m);
	return r;
}

static const struct copy target_keys[] = {
    {"reason", COPY_TEXT},
    {"state", COPY_TEXT},
    {"fuzzed", COPY_FLAG},
    {"given_up", COPY_FLAG},
    {"done", COPY_FLAG},
    {"note", COPY_TEXT},
    {"wall_seconds", COPY_NUMBER},
    {"cpu_seconds", COPY_NUMBER},
    {"execs", COPY_NUMBER},
    {"execs_per_cpu_second", COPY_NUMBER},
    {"cov", COPY_NUMBER},
    {"edges", COPY_NUMBER},
    {"ft", COPY_NUMBER},
    {"corpus_units", COPY_NUMBER},
    {"new_inputs", COPY_NUMBER},
    {"memory_peak_bytes", COPY_NUMBER},
    {"memory_limit_bytes", COPY_NUMBER},
    {"failures_total", COPY_NUMBER},
    {"crashes_new", COPY_NUMBER},
};

static void model_run_add_target(struct serve_site *s, json_t *rows, const json_t *t)
{
	const char *name = get_text(t, "name");
	_autojson_ json_t *m = json_object();

	make_text(m, "name", name);
	if (site_knows_target(s, name))
		make_href(m, "href", "targets/", name, ".html");
	make_copy(m, t, target_keys, COUNT(target_keys));
	json_array_append_new(rows, take_ptr(&m));
}

static const struct copy crash_keys[] = {
    {"signature", COPY_TEXT}, {"what", COPY_TEXT},   {"state", COPY_TEXT},
    {"count", COPY_NUMBER},   {"hits", COPY_NUMBER}, {"tries", COPY_NUMBER},
    {"security", COPY_FLAG},
};

static void model_run_add_crashes(json_t *rows, const json_t *t)
{
	const json_t *all = json_object_get(t, "crashes");

	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *c = json_array_get(all, i);
		_autojson_ json_t *m = json_object();

		if (json_array_size(rows) >= RUN_CRASHES)
			return;
		make_text(m, "target", get_text(t, "name"));
		make_copy(m, c, crash_keys, COUNT(crash_keys));
		crash_href(m, "href", get_text(c, "signature"));
		json_array_append_new(rows, take_ptr(&m));
	}
}

static void model_run_lists(struct serve_site *s, json_t *m, const json_t *all)
{
	json_t *targets = json_array(), *crashes = json_array();

	for (size_t i = 0; i < json_array_size(all); i++) {
		if (i < MODEL_RUN_TARGETS)
			model_run_add_target(s, targets, json_array_get(all, i));
		model_run_add_crashes(crashes, json_array_get(all, i));
	}
	make_set(m, "targets", targets);
	make_number(m, "total", json_array_size(all));
	make_set(m, "crashes", crashes);
}

static int one_run(struct serve_site *s, const json_t *run, const json_t *targets, json_t *row,
		   const char *problem, json_t **ret, struct err *e)
{
	static const struct copy keys[] = {{"cgroup_layout", COPY_TEXT},
					   {"version", COPY_TEXT},
					   {"own_cpu_seconds", COPY_NUMBER},
					   {"own_peak_rss_bytes", COPY_NUMBER}};
	_autojson_ json_t *m = json_object();
	int r;

	make_set(m, "row", row);
	if (problem && *problem)
		make_text(m, "problem", problem);
	r = model_begin(s, m, e);
	make_copy(m, run, keys, COUNT(keys));
	model_run_lists(s, m, targets);
	if (r == 0)
		*ret = take_ptr(&m);
	return r;
}

static int of_summary(struct serve_site *s, const json_t *summary, json_t **ret, struct err *e)
{
	return one_run(s, summary, json_object_get(summary, "targets"), row_run(s, summary), NULL,
		       ret, e);
}

/* The run did not complete, or its summary is damaged. */
static int of_rest(struct serve_site *s, const char *run, const char *why, json_t **ret,
		   struct err *e)
{
	_autojson_ json_t *targets = NULL;
	json_t *row = NULL;
	int r = run_without_summary(s, run, why != NULL, &row, &targets, e);

	return r < 0 ? r : one_run(s, NULL, targets, row, why, ret, e);
}

int model_run(struct serve_site *s, const char *name, json_t **ret, struct err *e)
{
	_autojson_ json_t *summary = NULL;
	const json_t *live = site_live(s);
	struct err why = {0};
	int r;

	if (*name && strcmp(name, site_live_run(s)) == 0)
		return one_run(s, json_object_get(live, "run"), json_object_get(live, "targets"),
			       row_live(s), NULL, ret, e);
	r = site_log(s, name, "summary.json", &summary, &why);
	if (r == 0 && json_is_object(summary))
		return of_summary(s, summary, ret, e);
	if (r == 0)
		(void)err_set(&why, EBADMSG, "summary.json is not a JSON object");
	return of_rest(s, name, r == -ENOENT ? NULL : why.msg, ret, e);
}
