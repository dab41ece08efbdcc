/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus's text format, version 0.0.4. */
#include "base/cleanup.h"
#include "runner/serve/model/model.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The first error is kept, and all later calls do nothing. */
struct text {
	struct buf *out;
	struct err *e;
	int r;
};

static void model_metrics_add(struct text *t, struct slice s)
{
	if (t->r == 0)
		t->r = buf_add(t->out, s, t->e);
}

static void model_metrics_head(struct text *t, const char *name, const char *type, const char *help)
{
	if (t->r == 0)
		t->r =
		    buf_addf(t->out, t->e, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* label="value": a backslash, a quote and a newline are escaped; before: '{' or ','. */
static void label(struct text *t, const char *before, const char *name, const char *value)
{
	model_metrics_add(t, slice_of(before));
	model_metrics_add(t, slice_of(name));
	model_metrics_add(t, SLICE("=\""));
	for (; *value; value++) {
		if (*value == '\n')
			model_metrics_add(t, SLICE("\\n"));
		else if (*value == '\\' || *value == '"')
			model_metrics_add(t, SLICE("\\"));
		if (*value != '\n')
			model_metrics_add(t, (struct slice){value, 1});
	}
	model_metrics_add(t, SLICE("\""));
}

static void model_metrics_value(struct text *t, double v)
{
	if (t->r == 0)
		t->r = v > -1e15 && v < 1e15 && v == (double)(int64_t)v
			   ? buf_addf(t->out, t->e, " %lld\n", (long long)v)
			   : buf_addf(t->out, t->e, " %.17g\n", v);
}

/* A metric without labels. */
static void gauge(struct text *t, const char *name, const char *help, double v)
{
	model_metrics_head(t, name, "gauge", help);
	model_metrics_add(t, slice_of(name));
	model_metrics_value(t, v);
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
};

static const char *row_name(const json_t *one)
{
	return get_text(json_object_get(one, "row"), "name");
}

static void target_metric(struct text *t, const json_t *all, const struct target_metric *m)
{
	model_metrics_head(t, m->name, m->type, m->help);
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i);
		const json_t *v = json_object_get(json_object_get(one, "row"), m->key);

		if (!json_is_number(v))
			continue;
		model_metrics_add(t, slice_of(m->name));
		label(t, "{", "target", row_name(one));
		model_metrics_add(t, SLICE("}"));
		model_metrics_value(t, json_number_value(v));
	}
}

static void pressures(struct text *t, const json_t *all)
{
	static const char *const kinds[][2] = {
	    {"cpu", "pressure_cpu"}, {"memory", "pressure_memory"}, {"io", "pressure_io"}};

	model_metrics_head(
	    t, "fuzzcell_target_pressure_ratio", "gauge",
	    "Share of the time in which all of the living cell waited for the resource.");
	for (size_t i = 0; i < json_array_size(all); i++)
		for (size_t k = 0; k < COUNT(kinds); k++) {
			const json_t *one = json_array_get(all, i);
			const json_t *v = json_object_get(json_object_get(one, "row"), kinds[k][1]);

			if (!json_is_number(v))
				continue;
			model_metrics_add(t, SLICE("fuzzcell_target_pressure_ratio"));
			label(t, "{", "target", row_name(one));
			label(t, ",", "resource", kinds[k][0]);
			model_metrics_add(t, SLICE("}"));
			model_metrics_value(t, json_number_value(v));
		}
}

static void model_metrics_failures(struct text *t, const json_t *all)
{
	model_metrics_head(t, "fuzzcell_target_failures_total", "counter",
			   "Failures of the target in that run, by kind.");
	for (size_t i = 0; i < json_array_size(all); i++) {
		json_t *one = json_array_get(all, i);
		const char *kind;
		json_t *v;

		json_object_foreach(json_object_get(one, "failures"), kind, v)
		{
			if (!json_is_number(v))
				continue;
			model_metrics_add(t, SLICE("fuzzcell_target_failures_total"));
			label(t, "{", "target", row_name(one));
			label(t, ",", "kind", kind);
			model_metrics_add(t, SLICE("}"));
			model_metrics_value(t, json_number_value(v));
		}
	}
}

static void last_fuzzed(struct text *t, const json_t *all)
{
	model_metrics_head(t, "fuzzcell_target_last_fuzzed_time_seconds", "gauge",
			   "When the last run that fuzzed the target ended.");
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i);
		uint64_t at = get_time(json_object_get(one, "row"), "last_fuzzed");

		if (!at)
			continue;
		model_metrics_add(t, SLICE("fuzzcell_target_last_fuzzed_time_seconds"));
		label(t, "{", "target", row_name(one));
		model_metrics_add(t, SLICE("}"));
		model_metrics_value(t, (double)at);
	}
}

static void health_of(struct text *t, const json_t *one, const char *severity, const char *code)
{
	model_metrics_add(t, SLICE("fuzzcell_target_health"));
	label(t, "{", "target", row_name(one));
	label(t, ",", "severity", severity);
	label(t, ",", "code", code);
	model_metrics_add(t, SLICE("}"));
	model_metrics_value(t, 1);
}

static void healths(struct text *t, const json_t *all)
{
	model_metrics_head(t, "fuzzcell_target_health", "gauge",
			   "1 for each finding of the target; without findings: ok, or unknown.");
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i);
		const json_t *f = json_object_get(one, "findings");
		const json_t *health = json_object_get(json_object_get(one, "row"), "health");
		bool known = json_is_true(json_object_get(health, "known"));

		for (size_t k = 0; k < json_array_size(f); k++)
			health_of(t, one, get_text(json_array_get(f, k), "severity"),
				  get_text(json_array_get(f, k), "code"));
		if (json_array_size(f) == 0)
			health_of(t, one, known ? "ok" : "unknown", known ? "healthy" : "unknown");
	}
}

static int model_metrics_targets(struct model_base *b, struct text *t)
{
	_autojson_ json_t *all = NULL;
	int r = all_targets(b, &all, t->e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < COUNT(target_metrics); i++)
		target_metric(t, all, &target_metrics[i]);
	pressures(t, all);
	model_metrics_failures(t, all);
	last_fuzzed(t, all);
	healths(t, all);
	return t->r;
}

/* --- runs, crashes, the service -------------------------------------------------------- */

static void model_metrics_run_of(struct text *t, const json_t *run)
{
	model_metrics_head(t, "fuzzcell_run_info", "gauge", "The living run, else the last run.");
	model_metrics_add(t, SLICE("fuzzcell_run_info"));
	label(t, "{", "run", get_text(run, "run"));
	label(t, ",", "commit", get_text(run, "commit"));
	model_metrics_add(t, SLICE("}"));
	model_metrics_value(t, 1);
	if (get_time(run, "started"))
		gauge(t, "fuzzcell_run_start_time_seconds", "When the run began.",
		      (double)get_time(run, "started"));
	if (get_number(run, "workers") > 0) /* unknown for a killed run */
		gauge(t, "fuzzcell_workers", "How many targets the run fuzzes at once.",
		      get_number(run, "workers"));
}

static int model_metrics_runs(struct serve_site *s, struct text *t)
{
	_autojson_ json_t *rows = NULL;
	uint64_t damaged = 0, total = 0, ended = 0;
	int r = rows_runs(s, 1, &rows, &damaged, t->e);

	if (r == 0)
		r = site_last_end(s, &ended, t->e);
	if (r == 0)
		r = site_runs_total(s, &total, t->e);
	if (r < 0)
		return r;
	gauge(t, "fuzzcell_run_active", "Whether a run lives.", site_live(s) ? 1 : 0);
	model_metrics_head(t, "fuzzcell_runs_total", "counter", "Runs that ended.");
	model_metrics_add(t, SLICE("fuzzcell_runs_total"));
	model_metrics_value(t, (double)total);
	if (json_array_size(rows) > 0)
		model_metrics_run_of(t, json_array_get(rows, 0));
	if (ended)
		gauge(t, "fuzzcell_last_run_end_time_seconds", "When the last completed run ended.",
		      (double)ended);
	return t->r;
}

static int model_metrics_crashes(struct model_base *b, struct text *t)
{
	_autojson_ json_t *counts = NULL;
	const char *state;
	json_t *n;
	int r = crash_counts(b->ledger, &counts, t->e);

	if (r < 0)
		return r;
	model_metrics_head(t, "fuzzcell_crashes", "gauge", "Crashes that are known, by state.");
	json_object_foreach(counts, state, n)
	{
		model_metrics_add(t, SLICE("fuzzcell_crashes"));
		label(t, "{", "state", state);
		model_metrics_add(t, SLICE("}"));
		model_metrics_value(t, json_number_value(n));
	}
	return t->r;
}

static void service_finding(struct text *t, const char *severity, const char *code)
{
	model_metrics_add(t, SLICE("fuzzcell_service_health"));
	label(t, "{", "severity", severity);
	label(t, ",", "code", code);
	model_metrics_add(t, SLICE("}"));
	model_metrics_value(t, 1);
}

static int service_health(struct model_base *b, struct text *t)
{
	_autojson_ json_t *f = NULL;
	int r = service_findings(b, &f, t->e);

	if (r < 0)
		return r;
	model_metrics_head(t, "fuzzcell_service_health", "gauge",
			   "1 for each finding of the service; ok without findings.");
	for (size_t i = 0; i < json_array_size(f); i++)
		service_finding(t, get_text(json_array_get(f, i), "severity"),
				get_text(json_array_get(f, i), "code"));
	if (json_array_size(f) == 0)
		service_finding(t, "ok", "healthy");
	return t->r;
}

static int service(struct serve_site *s, struct text *t)
{
	_autojson_ json_t *outbox = NULL;
	uint64_t oldest, now = site_now(s);
	struct statvfs fs;
	int r = outbox_part(s, &outbox, t->e);

	if (r < 0)
		return r;
	oldest = get_time(outbox, "oldest");
	if (json_is_object(outbox)) {
		gauge(t, "fuzzcell_outbox_pending", "Notifications that wait to be sent.",
		      get_number(outbox, "pending"));
		gauge(t, "fuzzcell_outbox_oldest_seconds",
		      "How long the oldest of them has waited.",
		      oldest && oldest < now ? (double)(now - oldest) : 0);
	}
	if (fstatvfs(s->state->dirfd, &fs) == 0)
		gauge(t, "fuzzcell_disk_free_bytes", "Free space where the state directory is.",
		      (double)fs.f_bavail * (double)fs.f_frsize);
	gauge(t, "fuzzcell_disk_reserve_bytes", "Free space below which nothing new is started.",
	      (double)s->limits.disk_reserve);
	return t->r;
}

static int everything(struct serve_site *site, struct buf *out, struct err *e)
{
	_autobase_ struct model_base b = {0};
	struct text t = {.out = out, .e = e};
	int r = base_load(site, &b, e);

	if (r < 0)
		return r;
	gauge(&t, "fuzzcell_up", "1: the state directory can be read.", 1);
	model_metrics_head(&t, "fuzzcell_build_info", "gauge", "The version of fuzzcell.");
	model_metrics_add(&t, SLICE("fuzzcell_build_info"));
	label(&t, "{", "version", FUZZCELL_VERSION);
	model_metrics_add(&t, SLICE("}"));
	model_metrics_value(&t, 1);
	r = t.r;
	if (r == 0)
		r = model_metrics_runs(site, &t);
	if (r == 0)
		r = model_metrics_targets(&b, &t);
	if (r == 0)
		r = model_metrics_crashes(&b, &t);
	if (r == 0)
		r = service_health(&b, &t);
	return r < 0 ? r : service(site, &t);
}

/* On errors, a scrape gets a metric that says that nothing can be read, not only a failed
 * request. */
int serve_metrics(struct serve_site *site, struct buf *out, struct err *e)
{
	struct text t = {.out = out, .e = e};
	int r = everything(site, out, e);

	if (r == 0 || r == -ENOMEM)
		return r;
	buf_clear(out);
	gauge(&t, "fuzzcell_up", "1: the state directory can be read.", 0);
	return t.r;
}
