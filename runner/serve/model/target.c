/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a target. */
#include "runner/serve/model/model.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/state/series.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* --- facts, from the history and the living run --------------------------- */

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Edges at the end of each run, oldest first. */
static json_t *trend(const json_t *lines)
{
	size_t n = json_array_size(lines);
	json_t *all = json_array();

	for (size_t i = n < MODEL_TREND ? n : MODEL_TREND; i-- > 0;) {
		json_t *v = json_object_get(json_array_get(lines, i), "cov");

		if (json_is_number(v))
			json_array_append(all, v);
	}
	return all;
}

/* The size of a target's history; 0: it has none. */
static json_int_t history_size(const struct serve_site *s, const char *name)
{
	_autofree_ char *path = xasprintf("stats/targets/%s.jsonl", name);
	struct stat st;

	if (fstatat(s->state->dirfd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return (json_int_t)st.st_size;
}

static json_t *known_trend(struct serve_site *s, const char *name, json_int_t size)
{
	const json_t *known = json_object_get(s->trends, name);

	return known && json_integer_value(json_object_get(known, "size")) == size
		   ? json_incref(json_object_get(known, "trend"))
		   : NULL;
}

/* Errors are ignored: an uncached trend is computed again. */
static void keep_trend(struct serve_site *s, const char *name, json_int_t size, json_t *made)
{
	if (!s->trends || json_object_size(s->trends) > SITE_TARGETS_MAX) {
		json_decref(s->trends);
		s->trends = json_object();
	}
	(void)json_object_set_new(s->trends, name,
				  json_pack("{s:I, s:O}", "size", size, "trend", made));
}

/* Reads n lines, or more if the trend has to be computed from them. */
static int read_lines(struct serve_site *s, const char *name, size_t n, struct model_target *t,
		      struct err *e)
{
	json_int_t size = history_size(s, name);
	int r;

	t->trend = known_trend(s, name, size);
	r = site_target_lines(s, name, t->trend || n > MODEL_TREND ? n : MODEL_TREND, &t->lines, e);
	if (r < 0 || t->trend)
		return r;
	t->trend = trend(t->lines);
	if (size > 0)
		keep_trend(s, name, size, t->trend);
	return 0;
}

/* True once the target had its turn in this run. */
static bool knows(const json_t *living)
{
	return json_is_true(json_object_get(living, "fuzzed")) ||
	       json_is_true(json_object_get(living, "done"));
}

/* Fills values that the engine has not yet reported in this cell from the newest line. */
static void fill_facts(json_t *now, const json_t *line)
{
	static const char *const keys[] = {"cov", "edges", "ft", "corpus_units"};

	for (size_t i = 0; i < COUNT(keys); i++)
		if (get_number(now, keys[i]) == 0 && get_number(line, keys[i]) > 0)
			json_object_set(now, keys[i], json_object_get(line, keys[i]));
	if (get_number(now, "corpus_bytes") == 0)
		(void)json_object_del(now, "corpus_bytes");
}

static void newest_facts(const struct serve_site *s, const char *name, struct model_target *t)
{
	json_t *living = site_live_target(s, name), *line = json_array_get(t->lines, 0);

	t->living = living;
	t->live = living && (!line || knows(living));
	t->now = t->live ? json_copy(living) : json_incref(line);
	if (t->live)
		fill_facts(t->now, line);
}

/* An unreadable history is reported, and other data is still shown. */
static void no_lines(struct model_target *t, const struct err *e)
{
	snprintf(t->damaged, sizeof(t->damaged), "%s", e->msg);
	if (!t->lines)
		t->lines = json_array();
	if (!t->trend)
		t->trend = json_array();
}

int target_facts(struct model_base *b, const char *name, size_t lines, struct model_target *ret,
		 struct err *e)
{
	struct model_target t = {0};

	if (!site_target_ok(name))
		return err_set(e, ENOENT, "no such target");
	if (read_lines(b->site, name, lines, &t, e) < 0)
		no_lines(&t, e);
	newest_facts(b->site, name, &t);
	target_findings(b, name, &t);
	*ret = t;
	return 0;
}

void target_facts_done(struct model_target *t)
{
	json_decref(t->lines);
	json_decref(t->trend);
	json_decref(t->now);
	json_decref(t->findings);
	*t = (struct model_target){0};
}

/* --- the page ------------------------------------------------------------- */

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The columns of each run: when it ended, then these. */
static const char *const growth_keys[] = {
    "cov", "ft", "corpus_units", "execs_per_cpu_second", "cpu_seconds", "new_inputs"};

static json_t *growth_columns(void)
{
	json_t *all = json_array();

	json_array_append_new(all, json_string("time"));
	for (size_t i = 0; i < COUNT(growth_keys); i++)
		json_array_append_new(all, json_string(growth_keys[i]));
	return all;
}

static json_t *model_target_number_or_null(const json_t *j, const char *key)
{
	json_t *v = json_object_get(j, key);

	return json_is_number(v) ? json_incref(v) : json_null();
}

static json_t *growth_point(const json_t *line, uint64_t ended)
{
	json_t *point = json_array();

	json_array_append_new(point, json_integer((json_int_t)ended));
	for (size_t i = 0; i < COUNT(growth_keys); i++)
		json_array_append_new(point, model_target_number_or_null(line, growth_keys[i]));
	return point;
}

/* lines: newest first; points: oldest first. */
static json_t *growth_points(const json_t *lines)
{
	json_t *all = json_array();

	for (size_t i = json_array_size(lines); i-- > 0;) {
		const json_t *line = json_array_get(lines, i);
		uint64_t ended = get_time(line, "ended");

		if (ended)
			json_array_append_new(all, growth_point(line, ended));
	}
	return all;
}

/* Makes no pages for unknown names. */
static int model_target_known(struct serve_site *s, const char *name, const struct model_target *t,
			      struct err *e)
{
	return t->now || site_knows_target(s, name) ? 0 : err_set(e, ENOENT, "no such target");
}

int model_growth(struct serve_site *s, const char *name, json_t **ret, struct err *e)
{
	_autobase_ struct model_base b = {0};
	_autotarget_ struct model_target t = {0};
	_autojson_ json_t *m = json_object();
	int r = base_load(s, &b, e);

	if (r == 0)
		r = target_facts(&b, name, MODEL_POINTS, &t, e);
	if (r == 0)
		r = model_target_known(s, name, &t, e);
	if (r < 0)
		return r;
	make_number(m, "v", 1);
	make_text(m, "target", name);
	make_text(m, "x", "time");
	make_set(m, "columns", growth_columns());
	make_set(m, "points", growth_points(t.lines));
	*ret = take_ptr(&m);
	return 0;
}

/* The curves of a target's newest run; NULL: it has none. */
static json_t *newest_series(struct serve_site *s, const char *name, const struct model_target *t)
{
	const char *run = t->live ? site_live_run(s) : get_text(t->now, "run");
	json_t *series = NULL;
	struct err ignored;

	return series_read(s->state, run, name, MODEL_POINTS, &series, &ignored) < 0 ? NULL
										     : series;
}

static void limit_part(const struct model_target *t, json_t *m)
{
	static const struct copy keys[] = {{"memory_limit_bytes", COPY_NUMBER}};

	make_copy(m, t->now, keys, 1);
}

int model_series(struct serve_site *s, const char *name, json_t **ret, struct err *e)
{
	static const struct copy keys[] = {{"run", COPY_TEXT}, {"started", COPY_TEXT}};
	_autobase_ struct model_base b = {0};
	_autotarget_ struct model_target t = {0};
	_autojson_ json_t *series = NULL;
	_autojson_ json_t *m = json_object();
	int r = base_load(s, &b, e);

	if (r == 0)
		r = target_facts(&b, name, 1, &t, e);
	if (r == 0)
		r = model_target_known(s, name, &t, e);
	if (r < 0)
		return r;
	series = newest_series(s, name, &t);
	if (!series)
		return err_set(e, ENOENT, "no curves of this target");
	make_number(m, "v", 1);
	make_text(m, "target", name);
	make_copy(m, series, keys, COUNT(keys));
	make_text(m, "x", "t");
	make_set(m, "columns", json_incref(json_object_get(series, "columns")));
	make_set(m, "points", json_incref(json_object_get(series, "points")));
	limit_part(&t, m);
	*ret = take_ptr(&m);
	return 0;
}

/* A sample of the points that fits a page, always with the first and the last. */
static json_t *sample_of(const json_t *points)
{
	size_t n = json_array_size(points), some = n < MODEL_SAMPLE ? n : MODEL_SAMPLE;
	json_t *all = json_array();

	for (size_t i = 0; i < some; i++)
		json_array_append(all,
				  json_array_get(points, some > 1 ? i * (n - 1) / (some - 1) : 0));
	return all;
}

static json_t *series_note(const char *name, const json_t *series)
{
	static const struct copy keys[] = {{"run", COPY_TEXT}};
	_autojson_ json_t *m = json_object();

	if (!series)
		return json_null();
	make_href(m, "api", "api/v1/series/", name, ".json");
	make_copy(m, series, keys, 1);
	make_set(m, "columns", json_incref(json_object_get(series, "columns")));
	make_number(m, "points", json_array_size(json_object_get(series, "points")));
	make_set(m, "sample", sample_of(json_object_get(series, "points")));
	return take_ptr(&m);
}

static json_t *growth_note(const char *name, const json_t *points)
{
	_autojson_ json_t *m = json_object();

	make_href(m, "api", "api/v1/growth/", name, ".json");
	make_set(m, "columns", growth_columns());
	make_number(m, "points", json_array_size(points));
	make_set(m, "sample", sample_of(points));
	return take_ptr(&m);
}

static const struct copy run_keys[] = {
    {"run", COPY_TEXT},
    {"ended", COPY_TEXT},
    {"commit", COPY_TEXT},
    {"reason", COPY_TEXT},
    {"fuzzed", COPY_FLAG},
    {"cov", COPY_NUMBER},
    {"edges", COPY_NUMBER},
    {"ft", COPY_NUMBER},
    {"corpus_units", COPY_NUMBER},
    {"execs", COPY_NUMBER},
    {"execs_per_cpu_second", COPY_NUMBER},
    {"cpu_seconds", COPY_NUMBER},
    {"new_inputs", COPY_NUMBER},
    {"failures_total", COPY_NUMBER},
};

static json_t *model_target_runs_part(struct serve_site *s, const json_t *lines)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(lines) && i < MODEL_TARGET_RUNS; i++) {
		const json_t *line = json_array_get(lines, i);
		_autojson_ json_t *m = json_object();

		make_copy(m, line, run_keys, COUNT(run_keys));
		if (site_run_kept(s, get_text(line, "run")))
			make_href(m, "href", "runs/", get_text(line, "run"), ".html");
		json_array_append_new(rows, take_ptr(&m));
	}
	return rows;
}

/* All values of the newest run; the file in its logs has more than the history. */
static json_t *stats_part(struct serve_site *s, const char *name, const struct model_target *t)
{
	json_t *stats = NULL;
	char file[300];
	struct err why;

	if (!t->live) {
		snprintf(file, sizeof(file), "%s.stats", name);
		if (site_log(s, get_text(t->now, "run"), file, &stats, &why) == 0)
			return stats;
	}
	return t->now ? json_incref(t->now) : json_null();
}

static int model_target_lists(struct model_base *b, const char *name, const struct model_target *t,
			      json_t *m, struct err *e)
{
	_autojson_ json_t *points = NULL, *series = NULL;
	json_t *rows = NULL;
	size_t total = 0;
	int r = rows_crashes(b->ledger, name, MODEL_NEWEST, &rows, &total, e);

	if (r < 0)
		return r;
	make_set(m, "crashes", rows);
	make_number(m, "crashes_total", total);
	make_set(m, "runs", model_target_runs_part(b->site, t->lines));
	make_set(m, "stats", stats_part(b->site, name, t));
	series = newest_series(b->site, name, t);
	points = growth_points(t->lines);
	make_set(m, "series", series_note(name, series));
	make_set(m, "growth", growth_note(name, points));
	make_set(m, "coverage", coverage_part(b->site, name));
	return 0;
}

int model_target(struct serve_site *s, const char *name, json_t **ret, struct err *e)
{
	_autobase_ struct model_base b = {0};
	_autotarget_ struct model_target t = {0};
	_autojson_ json_t *m = json_object();
	int r = base_load(s, &b, e);

	if (r == 0)
		r = target_facts(&b, name, MODEL_TARGET_RUNS, &t, e);
	if (r == 0)
		r = model_target_known(s, name, &t, e);
	if (r == 0)
		r = model_begin(s, m, e);
	if (r < 0)
		return r;
	make_text(m, "name", name);
	if (*t.damaged)
		make_text(m, "problem", t.damaged);
	make_set(m, "row", row_target(&b, name, &t));
	make_set(m, "health",
		 json_pack("{s:s, s:O}", "severity", findings_severity(t.findings), "findings",
			   t.findings));
	limit_part(&t, m);
	r = model_target_lists(&b, name, &t, m, e);
	if (r == 0)
		*ret = take_ptr(&m);
	return r;
}
