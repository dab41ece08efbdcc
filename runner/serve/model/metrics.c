/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus's text format, version 0.0.4. */
#include "base/cleanup.h"
#include "runner/coverage/shelf.h"
#include "runner/rounds/past.h"
#include "runner/serve/model/model.h"

#include <string.h>
#include <sys/statvfs.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void model_metrics_head(struct buf *out, const char *name, const char *type,
			       const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* label="value": a backslash, a quote and a newline are escaped; before: '{' or ','. */
static void label(struct buf *out, const char *before, const char *name, const char *value)
{
	buf_puts(out, before);
	buf_puts(out, name);
	buf_puts(out, "=\"");
	for (; *value; value++) {
		if (*value == '\n')
			buf_puts(out, "\\n");
		else if (*value == '\\' || *value == '"')
			buf_puts(out, "\\");
		if (*value != '\n')
			buf_put(out, (struct slice){value, 1});
	}
	buf_puts(out, "\"");
}

static void model_metrics_value(struct buf *out, double v)
{
	if (v > -1e15 && v < 1e15 && v == (double)(int64_t)v)
		buf_printf(out, " %lld\n", (long long)v);
	else
		buf_printf(out, " %.17g\n", v);
}

/* A metric without labels. */
static void gauge(struct buf *out, const char *name, const char *help, double v)
{
	model_metrics_head(out, name, "gauge", help);
	buf_puts(out, name);
	model_metrics_value(out, v);
}

/* --- targets ------------------------------------------------------------------- */

static const struct target_metric {
	const char *name, *key, *type, *help;
} target_metrics[] = {
    {"fuzzcell_target_executions_total", "execs", "counter",
     "Inputs executed in the living run, else in the last run that had the target."},
    {"fuzzcell_target_cpu_seconds_total", "cpu_seconds", "counter",
     "CPU time of the target's cells in that run."},
    {"fuzzcell_target_coverage_edges", "cov", "gauge", "Edges that the corpus reaches."},
    {"fuzzcell_target_edges", "edges", "gauge", "Edges that the binary has."},
    {"fuzzcell_target_features", "ft", "gauge", "Features that the corpus reaches."},
    {"fuzzcell_target_corpus_inputs", "corpus_units", "gauge", "Inputs in the corpus."},
    {"fuzzcell_target_corpus_bytes", "corpus_bytes", "gauge", "Size of the corpus."},
    {"fuzzcell_target_memory_bytes", "memory_bytes", "gauge", "Memory that the cell uses now."},
    {"fuzzcell_target_memory_limit_bytes", "memory_limit_bytes", "gauge",
     "Memory limit of the cell."},
    {"fuzzcell_target_checks_left", "checks_left", "gauge",
     "Inputs of the corpus that the target's check variants have yet to run."},
};

static const char *row_name(const json_t *one)
{
	return get_text(json_object_get(one, "row"), "name");
}

static void target_metric(struct buf *out, const json_t *all, const struct target_metric *m)
{
	model_metrics_head(out, m->name, m->type, m->help);
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i);
		const json_t *v = json_object_get(json_object_get(one, "row"), m->key);

		if (!json_is_number(v))
			continue;
		buf_puts(out, m->name);
		label(out, "{", "target", row_name(one));
		buf_puts(out, "}");
		model_metrics_value(out, json_number_value(v));
	}
}

static void pressures(struct buf *out, const json_t *all)
{
	static const char *const kinds[][2] = {
	    {"cpu", "pressure_cpu"}, {"memory", "pressure_memory"}, {"io", "pressure_io"}};

	model_metrics_head(
	    out, "fuzzcell_target_pressure_ratio", "gauge",
	    "Share of the time in which all of the living cell waited for the resource.");
	for (size_t i = 0; i < json_array_size(all); i++)
		for (size_t k = 0; k < COUNT(kinds); k++) {
			const json_t *one = json_array_get(all, i);
			const json_t *v = json_object_get(json_object_get(one, "row"), kinds[k][1]);

			if (!json_is_number(v))
				continue;
			buf_puts(out, "fuzzcell_target_pressure_ratio");
			label(out, "{", "target", row_name(one));
			label(out, ",", "resource", kinds[k][0]);
			buf_puts(out, "}");
			model_metrics_value(out, json_number_value(v));
		}
}

static void model_metrics_failures(struct buf *out, const json_t *all)
{
	model_metrics_head(out, "fuzzcell_target_failures_total", "counter",
			   "Failures of the target in that run, by kind.");
	for (size_t i = 0; i < json_array_size(all); i++) {
		json_t *one = json_array_get(all, i);
		const char *kind;
		json_t *v;

		json_object_foreach(json_object_get(one, "failures"), kind, v)
		{
			if (!json_is_number(v))
				continue;
			buf_puts(out, "fuzzcell_target_failures_total");
			label(out, "{", "target", row_name(one));
			label(out, ",", "kind", kind);
			buf_puts(out, "}");
			model_metrics_value(out, json_number_value(v));
		}
	}
}

/* key: a value of what the target's statistics say of a strategy. */
static void strategy_metric(struct buf *out, const json_t *all, const char *name, const char *key,
			    const char *help)
{
	model_metrics_head(out, name, "gauge", help);
	for (size_t i = 0; i < json_array_size(all); i++) {
		json_t *one = json_array_get(all, i), *strategy;
		const char *of;

		json_object_foreach(json_object_get(one, "strategies"), of, strategy)
		{
			const json_t *v = json_object_get(strategy, key);

			if (!json_is_number(v))
				continue;
			buf_puts(out, name);
			label(out, "{", "target", row_name(one));
			label(out, ",", "strategy", of);
			buf_puts(out, "}");
			model_metrics_value(out, json_number_value(v));
		}
	}
}

/* key: a time of the row.  Targets without it are left out. */
static void model_metrics_times(struct buf *out, const json_t *all, const char *name,
				const char *key, const char *help)
{
	model_metrics_head(out, name, "gauge", help);
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i);
		uint64_t at = get_time(json_object_get(one, "row"), key);

		if (!at)
			continue;
		buf_puts(out, name);
		label(out, "{", "target", row_name(one));
		buf_puts(out, "}");
		model_metrics_value(out, (double)at);
	}
}

static void health_of(struct buf *out, const json_t *one, const char *severity, const char *code)
{
	buf_puts(out, "fuzzcell_target_health");
	label(out, "{", "target", row_name(one));
	label(out, ",", "severity", severity);
	label(out, ",", "code", code);
	buf_puts(out, "}");
	model_metrics_value(out, 1);
}

static void healths(struct buf *out, const json_t *all)
{
	model_metrics_head(out, "fuzzcell_target_health", "gauge",
			   "1 for each finding of the target; without findings: ok, or unknown.");
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i);
		const json_t *f = json_object_get(one, "findings");
		const json_t *health = json_object_get(json_object_get(one, "row"), "health");
		bool known = json_is_true(json_object_get(health, "known"));

		for (size_t k = 0; k < json_array_size(f); k++)
			health_of(out, one, get_text(json_array_get(f, k), "severity"),
				  get_text(json_array_get(f, k), "code"));
		if (json_array_size(f) == 0)
			health_of(out, one, known ? "ok" : "unknown",
				  known ? "healthy" : "unknown");
	}
}

/* One number of each measure ("lines", ...) of each target's newest coverage report. */
static void source_metric(struct buf *out, const json_t *all, const json_t *reports,
			  const char *name, const char *key, const char *help)
{
	static const char *const measures[] = {"lines", "functions", "regions", "branches"};

	model_metrics_head(out, name, "gauge", help);
	for (size_t i = 0; i < json_array_size(all); i++)
		for (size_t k = 0; k < COUNT(measures); k++) {
			const json_t *totals =
			    json_object_get(json_array_get(reports, i), "totals");
			const json_t *v =
			    json_object_get(json_object_get(totals, measures[k]), key);

			if (!json_is_number(v))
				continue;
			buf_puts(out, name);
			label(out, "{", "target", row_name(json_array_get(all, i)));
			label(out, ",", "measure", measures[k]);
			buf_puts(out, "}");
			model_metrics_value(out, json_number_value(v));
		}
}

static void source_lost(struct buf *out, const json_t *all, const json_t *reports)
{
	static const char name[] = "fuzzcell_target_source_lost_functions";

	model_metrics_head(
	    out, name, "gauge",
	    "Functions that the newest report no longer reaches, but the one before did.");
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *v = json_object_get(json_array_get(reports, i), "no_longer_reached");

		if (!json_is_number(v))
			continue;
		buf_puts(out, name);
		label(out, "{", "target", row_name(json_array_get(all, i)));
		buf_puts(out, "}");
		model_metrics_value(out, json_number_value(v));
	}
}

static void sources_covered(struct serve_site *s, struct buf *out, const json_t *all)
{
	_autojson_ json_t *reports = json_array();
	struct err ignored;

	for (size_t i = 0; i < json_array_size(all); i++) {
		json_t *report = NULL;

		if (shelf_summary(s->state, row_name(json_array_get(all, i)), &report, &ignored) <
		    0)
			report = NULL;
		(void)json_array_append_new(reports, report ? report : json_null());
	}
	source_metric(out, all, reports, "fuzzcell_target_source_total", "count",
		      "Lines, functions, regions and branches of the target's source text.");
	source_metric(out, all, reports, "fuzzcell_target_source_covered", "covered",
		      "Of these, those that the corpus reached in the newest coverage report.");
	source_lost(out, all, reports);
}

static int model_metrics_targets(struct model_base *b, struct buf *out, struct err *e)
{
	_autojson_ json_t *all = NULL;
	int r = all_targets(b, &all, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < COUNT(target_metrics); i++)
		target_metric(out, all, &target_metrics[i]);
	pressures(out, all);
	model_metrics_failures(out, all);
	strategy_metric(out, all, "fuzzcell_target_strategy_edges", "edges",
			"Edges that the strategy found on the target's build.");
	strategy_metric(out, all, "fuzzcell_target_strategy_cpu_seconds", "cpu_seconds",
			"CPU time that the strategy had on the target's build.");
	model_metrics_times(out, all, "fuzzcell_target_last_fuzzed_time_seconds", "last_fuzzed",
			    "When the last run that fuzzed the target ended.");
	model_metrics_times(out, all, "fuzzcell_target_checks_behind_since_seconds",
			    "checks_behind_since",
			    "Since when inputs wait for the target's check variants.");
	healths(out, all);
	sources_covered(b->site, out, all);
	return 0;
}

/* --- runs, crashes, the service -------------------------------------------------------- */

static void model_metrics_run_of(struct buf *out, const json_t *run)
{
	model_metrics_head(out, "fuzzcell_run_info", "gauge", "The living run, else the last run.");
	buf_puts(out, "fuzzcell_run_info");
	label(out, "{", "run", get_text(run, "run"));
	label(out, ",", "commit", get_text(run, "commit"));
	buf_puts(out, "}");
	model_metrics_value(out, 1);
	if (get_time(run, "started"))
		gauge(out, "fuzzcell_run_start_time_seconds", "When the run began.",
		      (double)get_time(run, "started"));
	if (get_number(run, "workers") > 0) /* unknown for a killed run */
		gauge(out, "fuzzcell_workers", "How many targets the run fuzzes at once.",
		      get_number(run, "workers"));
}

static int model_metrics_runs(struct serve_site *s, struct buf *out, struct err *e)
{
	_autojson_ json_t *rows = NULL;
	uint64_t damaged = 0, total = 0, ended = 0;
	int r = rows_runs(s, 1, &rows, &damaged, e);

	if (r == 0)
		r = site_last_end(s, &ended, e);
	if (r == 0)
		r = site_runs_total(s, &total, e);
	if (r < 0)
		return r;
	gauge(out, "fuzzcell_run_active", "Whether a run lives.", site_live(s) ? 1 : 0);
	model_metrics_head(out, "fuzzcell_runs_total", "counter", "Runs that ended.");
	buf_puts(out, "fuzzcell_runs_total");
	model_metrics_value(out, (double)total);
	if (json_array_size(rows) > 0)
		model_metrics_run_of(out, json_array_get(rows, 0));
	if (ended)
		gauge(out, "fuzzcell_last_run_end_time_seconds",
		      "When the last completed run ended.", (double)ended);
	return 0;
}

static void model_metrics_crashes(struct model_base *b, struct buf *out)
{
	_autojson_ json_t *counts = crash_counts(b->ledger);
	const char *state;
	json_t *n;

	model_metrics_head(out, "fuzzcell_crashes", "gauge", "Crashes that are known, by state.");
	json_object_foreach(counts, state, n)
	{
		buf_puts(out, "fuzzcell_crashes");
		label(out, "{", "state", state);
		buf_puts(out, "}");
		model_metrics_value(out, json_number_value(n));
	}
}

static void service_finding(struct buf *out, const char *severity, const char *code)
{
	buf_puts(out, "fuzzcell_service_health");
	label(out, "{", "severity", severity);
	label(out, ",", "code", code);
	buf_puts(out, "}");
	model_metrics_value(out, 1);
}

static void service_health(struct model_base *b, struct buf *out)
{
	_autojson_ json_t *f = service_findings(b);

	model_metrics_head(out, "fuzzcell_service_health", "gauge",
			   "1 for each finding of the service; ok without findings.");
	for (size_t i = 0; i < json_array_size(f); i++)
		service_finding(out, get_text(json_array_get(f, i), "severity"),
				get_text(json_array_get(f, i), "code"));
	if (json_array_size(f) == 0)
		service_finding(out, "ok", "healthy");
}

static void service(struct serve_site *s, struct buf *out)
{
	_autojson_ json_t *outbox = outbox_part(s);
	uint64_t oldest, now = site_now(s);
	struct statvfs fs;

	oldest = get_time(outbox, "oldest");
	if (json_is_object(outbox)) {
		gauge(out, "fuzzcell_outbox_pending", "Notifications that wait to be sent.",
		      get_number(outbox, "pending"));
		gauge(out, "fuzzcell_outbox_oldest_seconds",
		      "How long the oldest of them has waited.",
		      oldest && oldest < now ? (double)(now - oldest) : 0);
	}
	if (fstatvfs(s->state->dirfd, &fs) == 0)
		gauge(out, "fuzzcell_disk_free_bytes", "Free space where the state directory is.",
		      (double)fs.f_bavail * (double)fs.f_frsize);
	gauge(out, "fuzzcell_disk_reserve_bytes", "Free space below which nothing new is started.",
	      (double)s->limits.disk_reserve);
}

/* The newest round of shards; nothing if there was none. */
static void round_of_shards(struct serve_site *s, struct buf *out)
{
	struct past_round r;
	struct err ignored;

	if (past_newest(s->state, &r, &ignored) < 0 || r.round == 0)
		return;
	gauge(out, "fuzzcell_round", "The number of the newest round of shards.", (double)r.round);
	gauge(out, "fuzzcell_round_shards", "Its shards.", r.shards);
	gauge(out, "fuzzcell_round_shards_ended", "Its shards that gave their last delta.",
	      r.ended);
	gauge(out, "fuzzcell_round_nodes", "Machines that gave deltas of it.", r.nodes);
	if (r.due > 0) /* there is a delta */
		gauge(out, "fuzzcell_round_due_time_seconds",
		      "When its last shard should have ended.", (double)r.due);
	if (r.until > 0)
		gauge(out, "fuzzcell_round_delta_time_seconds", "When its newest delta was made.",
		      (double)r.until);
	gauge(out, "fuzzcell_round_cpu_seconds", "CPU time of its cells.", r.cpu_seconds);
	gauge(out, "fuzzcell_round_edges", "Edges that its shards gained, each by itself.",
	      (double)r.edges);
	gauge(out, "fuzzcell_round_inputs", "Inputs in its deltas.", (double)r.inputs);
	past_round_done(&r);
}

static int everything(struct serve_site *site, struct buf *out, struct err *e)
{
	_autobase_ struct model_base b = {0};
	int r = base_load(site, &b, e);

	if (r < 0)
		return r;
	gauge(out, "fuzzcell_up", "1: the state directory can be read.", 1);
	model_metrics_head(out, "fuzzcell_build_info", "gauge", "The version of fuzzcell.");
	buf_puts(out, "fuzzcell_build_info");
	label(out, "{", "version", FUZZCELL_VERSION);
	buf_puts(out, "}");
	model_metrics_value(out, 1);
	r = model_metrics_runs(site, out, e);
	if (r == 0)
		r = model_metrics_targets(&b, out, e);
	if (r < 0)
		return r;
	model_metrics_crashes(&b, out);
	service_health(&b, out);
	service(site, out);
	round_of_shards(site, out);
	return 0;
}

/* On errors, a scrape gets a metric that says that nothing can be read, not only a failed
 * request. */
int serve_metrics(struct serve_site *site, struct buf *out, struct err *e)
{
	int r = everything(site, out, e);

	if (r == 0)
		r = buf_check(out, e);
	if (r == 0)
		return 0;
	buf_clear(out);
	gauge(out, "fuzzcell_up", "1: the state directory can be read.", 0);
	return buf_check(out, e);
}
