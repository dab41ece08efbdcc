/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/observe/summary.h"

#include "base/clock.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SUMMARY_VERSION = 1 };

size_t summary_unfuzzed(const struct run_view *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_rows; i++)
		n += v->rows[i].unfuzzed;
	return n;
}

uint64_t summary_failures(const struct run_view *v)
{
	uint64_t n = 0;

	for (size_t i = 0; i < v->n_rows; i++)
		n += v->rows[i].failures_total;
	return n;
}

uint64_t summary_new_crashes(const struct run_view *v)
{
	uint64_t n = 0;

	for (size_t i = 0; i < v->n_rows; i++)
		n += v->rows[i].crashes_new + v->rows[i].crashes_regressed + v->rows[i].untriaged;
	return n;
}

static int text_row(const struct target_row *r, struct buf *out, struct err *e)
{
	char time[UNITS_MAX], cpu[UNITS_MAX], execs[UNITS_MAX], rate[UNITS_MAX], mem[UNITS_MAX];
	char limit[UNITS_MAX], edges[48];

	if (r->edges_total)
		snprintf(edges, sizeof(edges), "%llu/%llu", (unsigned long long)r->cov,
			 (unsigned long long)r->edges_total);
	else
		snprintf(edges, sizeof(edges), "%llu", (unsigned long long)r->cov);
	return buf_addf(out, e, "%-28s %-16s %7s %7s %8s %8s %13s %7llu %6llu %8s/%-7s %4llu\n",
			r->name, r->reason, units_time(r->wall_us, time),
			units_time(r->cpu_us, cpu), units_count(r->execs, execs),
			units_count(r->exec_per_s, rate), edges, (unsigned long long)r->ft,
			(unsigned long long)r->new_inputs, units_size(r->memory_peak, mem),
			units_size(r->memory_limit, limit), (unsigned long long)r->failures_total);
}

static int text_failures(const struct target_row *r, struct buf *out, struct err *e)
{
	size_t first = strcspn(r->artifacts, "\n");
	int rc = buf_addf(out, e, "  %s:", r->name);

	for (size_t i = 0; rc == 0 && i < r->n_failure_names; i++)
		if (r->failures[i])
			rc = buf_addf(out, e, " %llu %s", (unsigned long long)r->failures[i],
				      r->failure_names[i]);
	if (rc == 0)
		rc = buf_addf(out, e, ", %llu restarts%s%s\n", (unsigned long long)r->restarts,
			      *r->note ? "; last: " : "", r->note);
	if (rc == 0 && *r->artifacts)
		rc = buf_addf(out, e, "    saved in crashes/%s: %.*s%s\n", r->name, (int)first,
			      r->artifacts,
			      r->artifacts[first] && r->artifacts[first + 1] ? ", ..." : "");
	return rc;
}

static int text_crashes(const struct target_row *r, struct buf *out, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->n_crashes; i++) {
		const struct row_crash *c = &r->crashes[i];

		rc = buf_addf(out, e, "  %s  %-9s %s: %s%s; %llu times, reproduces %llu of %llu\n",
			      c->signature, c->state, r->name, c->what,
			      c->security ? " (security)" : "", (unsigned long long)c->count,
			      (unsigned long long)c->hits, (unsigned long long)c->tries);
	}
	if (rc == 0 && r->crashes_fixed)
		rc = buf_addf(out, e, "  %s: %llu earlier crashes are fixed\n", r->name,
			      (unsigned long long)r->crashes_fixed);
	if (rc == 0 && r->untriaged)
		rc = buf_addf(out, e, "  %s: %llu artifacts wait for the next run's triage\n",
			      r->name, (unsigned long long)r->untriaged);
	return rc;
}

static bool has_crashes(const struct target_row *r)
{
	return r->n_crashes > 0 || r->crashes_fixed > 0 || r->untriaged > 0;
}

static int text_corpus(const struct target_row *r, struct buf *out, struct err *e)
{
	char before[UNITS_MAX], after[UNITS_MAX];

	return buf_addf(
	    out, e, "  %-28s %-9s %llu inputs, %s -> %llu, %s; %llu edges, %llu features%s%s\n",
	    r->name, r->corpus.verdict, (unsigned long long)r->corpus.files_before,
	    units_size(r->corpus.bytes_before, before), (unsigned long long)r->corpus.files,
	    units_size(r->corpus.bytes, after), (unsigned long long)r->corpus.edges,
	    (unsigned long long)r->corpus.features, *r->corpus.why ? ": " : "", r->corpus.why);
}

static bool has_corpus(const struct target_row *r)
{
	return r->corpus.verdict != NULL;
}

/* A note that no other line of the summary shows. */
static bool has_note(const struct target_row *r)
{
	return *r->note && !r->unfuzzed && !r->failures_total;
}

static int text_waits(const struct target_row *r, struct buf *out, struct err *e)
{
	int rc = 0;

	if (r->starved > 0.5)
		rc = buf_addf(out, e, "  %s waited for a CPU %.0f%% of its time\n", r->name,
			      r->starved * 100);
	if (rc == 0 && r->dismissed)
		rc = buf_addf(out, e, "  %s: %llu timeouts did not hold: it had waited for a CPU\n",
			      r->name, (unsigned long long)r->dismissed);
	if (rc == 0 && r->undecided)
		rc = buf_addf(out, e,
			      "  %s: %llu timeouts wait for a calmer machine to be tried on\n",
			      r->name, (unsigned long long)r->undecided);
	return rc;
}

static int text_less(const struct target_row *r, struct buf *out, struct err *e)
{
	int rc = 0;

	if (r->cov_before)
		rc = buf_addf(
		    out, e,
		    "  %s: COVERAGE DROPPED: %llu of %llu edges, the build before reached "
		    "%llu of %llu\n",
		    r->name, (unsigned long long)r->cov, (unsigned long long)r->edges_total,
		    (unsigned long long)r->cov_before, (unsigned long long)r->edges_before);
	if (rc == 0 && (r->log_dropped || r->line_dropped))
		rc = buf_addf(out, e, "  %s: %llu bytes of output are not in the log\n", r->name,
			      (unsigned long long)r->log_dropped);
	return rc;
}

/* What a person should look at that is no failure of the target's own. */
static int text_doubts(const struct target_row *r, struct buf *out, struct err *e)
{
	int rc = 0;

	if (r->unfuzzed)
		rc = buf_addf(out, e, "  %s was NOT FUZZED (%s)%s%s\n", r->name, r->reason,
			      *r->note ? ": " : "", r->note);
	if (rc == 0 && has_note(r))
		rc = buf_addf(out, e, "  %s: %s\n", r->name, r->note);
	if (rc == 0 && *r->refused)
		rc = buf_addf(out, e, "  %s: refused system calls: %s\n", r->name, r->refused);
	if (rc == 0 && r->pids_refused)
		rc = buf_addf(out, e, "  %s: %llu forks or threads refused\n", r->name,
			      (unsigned long long)r->pids_refused);
	if (rc == 0)
		rc = text_waits(r, out, e);
	return rc == 0 ? text_less(r, out, e) : rc;
}

static int section(const struct run_view *v, const char *title, struct buf *out,
		   int (*fn)(const struct target_row *r, struct buf *out, struct err *e),
		   bool (*has)(const struct target_row *r), struct err *e)
{
	bool first = true;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < v->n_rows; i++) {
		if (!has(&v->rows[i]))
			continue;
		if (first)
			rc = buf_addf(out, e, "\n%s\n", title);
		first = false;
		if (rc == 0)
			rc = fn(&v->rows[i], out, e);
	}
	return rc;
}

static bool has_failures(const struct target_row *r)
{
	return r->failures_total > 0;
}

static bool has_doubts(const struct target_row *r)
{
	return r->unfuzzed || has_note(r) || *r->refused || r->pids_refused || r->starved > 0.5 ||
	       r->dismissed || r->undecided || r->cov_before || r->log_dropped || r->line_dropped;
}

static bool any(const struct target_row *r)
{
	(void)r;
	return true;
}

int summary_text(const struct run_view *v, struct buf *out, struct err *e)
{
	char elapsed[UNITS_MAX], title[256], rss[UNITS_MAX];
	size_t unfuzzed = summary_unfuzzed(v);
	int r;

	snprintf(title, sizeof(title), "%-28s %-16s %7s %7s %8s %8s %13s %7s %6s %8s/%-7s %4s",
		 "target", "ended", "time", "cpu", "execs", "exec/s", "cov/edges", "ft", "new",
		 "peak", "limit", "bad");
	r = section(v, title, out, text_row, any, e);
	if (r == 0)
		r = section(v, "Found", out, text_failures, has_failures, e);
	if (r == 0)
		r = section(v, "Crashes (fuzzcell crash show SIGNATURE)", out, text_crashes,
			    has_crashes, e);
	if (r == 0)
		r = section(v, "Corpora", out, text_corpus, has_corpus, e);
	if (r == 0)
		r = section(v, "Look at", out, text_doubts, has_doubts, e);
	if (r == 0)
		r = buf_addf(out, e,
			     "\nrun %s: %zu targets in %s, %llu failures, %llu new crashes, %zu "
			     "not fuzzed%s; "
			     "fuzzcell itself: %.1f%% of a CPU, %s\n",
			     v->id, v->n_rows, units_time(v->elapsed_us, elapsed),
			     (unsigned long long)summary_failures(v),
			     (unsigned long long)summary_new_crashes(v), unfuzzed,
			     v->interrupted ? "; ended by a person" : "",
			     v->elapsed_us ? 100.0 * (double)v->own_cpu_us / (double)v->elapsed_us
					   : 0.0,
			     units_size(v->own_peak_rss, rss));
	return r;
}

static json_t *integer(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

static json_t *seconds(uint64_t us)
{
	return json_real((double)us / (double)USEC_PER_SEC);
}

/* Target text may be any bytes; JSON must be UTF-8. */
static json_t *text(const char *s)
{
	json_t *j = json_string(s);

	return j ? j : json_string("(not UTF-8)");
}

static json_t *when(uint64_t real_us)
{
	time_t t = (time_t)(real_us / USEC_PER_SEC);
	char out[32];
	struct tm tm;

	if (!real_us || !gmtime_r(&t, &tm))
		return json_null();
	strftime(out, sizeof(out), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(out);
}

static json_t *failures_json(const struct target_row *r)
{
	json_t *j = json_object();

	for (size_t i = 0; j && i < r->n_failure_names; i++)
		if (r->failures[i])
			json_object_set_new(j, r->failure_names[i], integer(r->failures[i]));
	return j;
}

static json_t *artifacts_json(const struct target_row *r)
{
	struct slice in = slice_of(r->artifacts), line;
	json_t *j = json_array();

	while (j && scan_line(&in, &line))
		json_array_append_new(j, json_stringn(line.p, line.n));
	return j;
}

static json_t *corpus_json(const struct target_row *r)
{
	if (!r->corpus.verdict)
		return json_null();
	return json_pack(
	    "{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "verdict", r->corpus.verdict, "why",
	    text(r->corpus.why), "files_before", (json_int_t)r->corpus.files_before, "files",
	    (json_int_t)r->corpus.files, "bytes_before", (json_int_t)r->corpus.bytes_before,
	    "bytes", (json_int_t)r->corpus.bytes, "edges", (json_int_t)r->corpus.edges, "features",
	    (json_int_t)r->corpus.features, "bad", (json_int_t)r->corpus.bad);
}

static json_t *crashes_json(const struct target_row *r)
{
	json_t *all = json_array();

	for (size_t i = 0; all && i < r->n_crashes; i++) {
		const struct row_crash *c = &r->crashes[i];

		json_array_append_new(
		    all, json_pack("{s:s, s:o, s:s, s:I, s:I, s:I, s:b}", "signature", c->signature,
				   "what", text(c->what), "state", c->state, "count",
				   (json_int_t)c->count, "hits", (json_int_t)c->hits, "tries",
				   (json_int_t)c->tries, "security", c->security));
	}
	return all;
}

struct field {
	const char *key;
	json_t *value; /* taken */
};

/* The object of the fields; any value that could not be made fails the whole. */
static int object(struct field *f, size_t n, json_t **ret, struct err *e)
{
	json_t *j = json_object();
	bool bad = !j;

	for (size_t i = 0; i < n; i++)
		if (bad || json_object_set_new(j, f[i].key, f[i].value) < 0) {
			if (bad)
				json_decref(f[i].value);
			bad = true;
		}
	if (bad) {
		json_decref(j);
		return err_set(e, ENOMEM, "build JSON");
	}
	*ret = j;
	return 0;
}

#define OBJECT(f, ret, e) object((f), sizeof(f) / sizeof((f)[0]), (ret), (e))

/* null: it was never fuzzed. */
static json_t *outlook_json(const struct target_row *r)
{
	struct field f[] = {
	    {"cpu_seconds_of_build", seconds(r->outlook.cpu_us)},
	    {"edges_per_cpu_second", json_real(r->outlook.rate)},
	    {"price", json_real(r->outlook.price)},
	    {"edges_in_next_cpu_hour", json_real(r->outlook.hour)},
	    {"discovery_probability", json_real(r->outlook.discovery)},
	};
	struct err ignored;
	json_t *j = NULL;

	/* No memory: NULL, which object() tells. */
	(void)!OBJECT(f, &j, &ignored);
	if (j && !r->outlook.known) {
		json_decref(j);
		return json_null();
	}
	return j;
}

int summary_target_json(const struct target_row *r, json_t **ret, struct err *e)
{
	struct field f[] = {
	    {"name", text(r->name)},
	    {"reason", json_string(r->reason)},
	    {"fuzzed", json_boolean(r->fuzzed)},
	    {"rebuilt", json_boolean(r->rebuilt)},
	    {"note", text(r->note)},
	    {"wall_seconds", seconds(r->wall_us)},
	    {"cell_seconds", seconds(r->cells_us)},
	    {"start_seconds", seconds(r->start_us)},
	    {"cpu_seconds", seconds(r->cpu_us)},
	    {"effective_seconds", seconds(r->effective_us)},
	    {"starved_share", json_real(r->starved)},
	    {"outlook", outlook_json(r)},
	    {"cov_of_build_before", integer(r->cov_before)},
	    {"execs", integer(r->execs)},
	    {"execs_per_cpu_second", integer(r->exec_per_s)},
	    {"cov", integer(r->cov)},
	    {"edges", integer(r->edges_total)},
	    {"ft", integer(r->ft)},
	    {"corpus_units", integer(r->corpus_units)},
	    {"seeds", integer(r->seeds)},
	    {"new_inputs", integer(r->new_inputs)},
	    {"new_input_bytes", integer(r->new_bytes)},
	    {"files_skipped", integer(r->collect_skipped)},
	    {"memory_peak_bytes", integer(r->memory_peak)},
	    {"memory_limit_bytes", integer(r->memory_limit)},
	    {"kernel_oom_kills", integer(r->oom_kills)},
	    {"forks_refused", integer(r->pids_refused)},
	    {"syscalls_refused", text(r->refused)},
	    {"failures", failures_json(r)},
	    {"failures_total", integer(r->failures_total)},
	    {"restarts", integer(r->restarts)},
	    {"corpus", corpus_json(r)},
	    {"crashes", crashes_json(r)},
	    {"crashes_new", integer(r->crashes_new)},
	    {"crashes_regressed", integer(r->crashes_regressed)},
	    {"crashes_fixed", integer(r->crashes_fixed)},
	    {"timeouts_dismissed", integer(r->dismissed)},
	    {"timeouts_undecided", integer(r->undecided)},
	    {"untriaged", integer(r->untriaged)},
	    {"artifacts", artifacts_json(r)},
	    {"log_bytes_dropped", integer(r->log_dropped)},
	};

	return OBJECT(f, ret, e);
}

static int targets_json(const struct run_view *v, json_t **ret, struct err *e)
{
	_autojson_ json_t *all = json_array();

	if (!all)
		return err_set(e, ENOMEM, "build JSON");
	for (size_t i = 0; i < v->n_rows; i++) {
		json_t *one;
		int r = summary_target_json(&v->rows[i], &one, e);

		if (r < 0)
			return r;
		if (json_array_append_new(all, one) < 0)
			return err_set(e, ENOMEM, "build JSON");
	}
	*ret = json_incref(all);
	return 0;
}

int summary_json(const struct run_view *v, json_t **ret, struct err *e)
{
	json_t *targets = NULL;
	int r = targets_json(v, &targets, e);

	if (r < 0)
		return r;
	struct field f[] = {
	    {"v", json_integer(SUMMARY_VERSION)},
	    {"run", json_string(v->id)},
	    {"status", json_string(v->interrupted ? "stopped" : "done")},
	    {"version", json_string(v->version)},
	    {"commit", v->commit ? json_string(v->commit) : json_null()},
	    {"cgroup_layout", json_string(v->layout)},
	    {"started", when(v->started_real_us)},
	    {"ended", when(v->ended_real_us)},
	    {"elapsed_seconds", seconds(v->elapsed_us)},
	    {"workers", json_integer(v->workers)},
	    {"failures", integer(summary_failures(v))},
	    {"new_crashes", integer(summary_new_crashes(v))},
	    {"not_fuzzed", integer(summary_unfuzzed(v))},
	    {"own_cpu_seconds", seconds(v->own_cpu_us)},
	    {"own_peak_rss_bytes", integer(v->own_peak_rss)},
	    {"targets", targets},
	};
	return OBJECT(f, ret, e);
}
