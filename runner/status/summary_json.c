/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/summary.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SUMMARY_VERSION = 1, LINE_VERSION = 2 };

static json_t *summary_json_integer(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

static json_t *summary_json_seconds(uint64_t us)
{
	return json_real((double)us / (double)USEC_PER_SEC);
}

/* JSON has neither infinity nor NaN. */
static json_t *summary_json_real(double d)
{
	json_t *j = json_real(d);

	return j ? j : json_null();
}

/* Target text may be any bytes; JSON must be UTF-8. */
static json_t *summary_json_text(const char *s)
{
	json_t *j = json_string(s);

	return j ? j : json_string("(not UTF-8)");
}

static json_t *summary_json_when(uint64_t real_us)
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

	for (size_t i = 0; i < r->n_failure_names; i++)
		if (r->failures[i])
			json_object_set_new(j, r->failure_names[i],
					    summary_json_integer(r->failures[i]));
	return j;
}

static json_t *artifacts_json(const struct target_row *r)
{
	struct slice in = slice_of(r->artifacts), line;
	json_t *j = json_array();

	while (scan_line(&in, &line))
		json_array_append_new(j, json_stringn(line.p, line.n));
	return j;
}

static json_t *corpus_json(const struct target_row *r)
{
	if (!r->corpus.verdict)
		return json_null();
	return json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "verdict",
			 r->corpus.verdict, "why", summary_json_text(r->corpus.why), "files_before",
			 (json_int_t)r->corpus.files_before, "files", (json_int_t)r->corpus.files,
			 "bytes_before", (json_int_t)r->corpus.bytes_before, "bytes",
			 (json_int_t)r->corpus.bytes, "edges", (json_int_t)r->corpus.edges,
			 "features", (json_int_t)r->corpus.features, "bad",
			 (json_int_t)r->corpus.bad);
}

static json_t *crashes_json(const struct target_row *r)
{
	json_t *all = json_array();

	for (size_t i = 0; i < r->n_crashes; i++) {
		const struct row_crash *c = &r->crashes[i];

		json_array_append_new(
		    all, json_pack("{s:s, s:o, s:s, s:I, s:I, s:I, s:b}", "signature", c->signature,
				   "what", summary_json_text(c->what), "state", c->state, "count",
				   (json_int_t)c->count, "hits", (json_int_t)c->hits, "tries",
				   (json_int_t)c->tries, "security", c->security));
	}
	return all;
}

struct field {
	const char *key;
	json_t *value; /* taken */
};

/* Adds the fields to o, and returns it. */
static json_t *summary_json_add(json_t *o, struct field *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_object_set_new(o, f[i].key, f[i].value);
	return o;
}

#define ADD(o, f) summary_json_add((o), (f), sizeof(f) / sizeof((f)[0]))

static json_t *outlook_json(const struct target_row *r)
{
	struct field f[] = {
	    {"cpu_seconds_of_build", summary_json_seconds(r->outlook.cpu_us)},
	    {"edges_per_cpu_second", summary_json_real(r->outlook.rate)},
	    {"price", summary_json_real(r->outlook.price)},
	    {"edges_in_next_cpu_hour", summary_json_real(r->outlook.hour)},
	    {"discovery_probability", summary_json_real(r->outlook.discovery)},
	    {"cpu_seconds_of_burst", summary_json_seconds(r->outlook.burst_us)},
	    {"edges_at_tenth_of_burst", summary_json_integer(r->outlook.early)},
	};

	return ADD(json_object(), f);
}

/* How the engine made the kept inputs. */
static json_t *kept_json(const struct target_row *r)
{
	return json_pack("{s:o, s:o, s:o}", "total", summary_json_integer(r->kept), "by_dictionary",
			 summary_json_integer(r->kept_by_dict), "by_comparison",
			 summary_json_integer(r->kept_by_cmp));
}

json_t *summary_target_json(const struct target_row *r)
{
	struct field f[] = {
	    {"name", summary_json_text(r->name)},
	    {"reason", json_string(r->reason)},
	    {"fuzzed", json_boolean(r->fuzzed)},
	    {"given_up", json_boolean(r->given_up)},
	    {"rebuilt", json_boolean(r->rebuilt)},
	    {"note", summary_json_text(r->note)},
	    {"wall_seconds", summary_json_seconds(r->wall_us)},
	    {"cell_seconds", summary_json_seconds(r->cells_us)},
	    {"start_seconds", summary_json_seconds(r->start_us)},
	    {"cpu_seconds", summary_json_seconds(r->cpu_us)},
	    {"effective_seconds", summary_json_seconds(r->effective_us)},
	    {"starved_share", summary_json_real(r->starved)},
	    {"outlook", r->outlook.known ? outlook_json(r) : json_null()},
	    {"forged", summary_json_text(r->forged)},
	    {"cov_of_build_before", summary_json_integer(r->cov_before)},
	    {"execs", summary_json_integer(r->execs)},
	    {"execs_per_cpu_second", summary_json_integer(r->exec_per_s)},
	    {"cov", summary_json_integer(r->cov)},
	    {"edges", summary_json_integer(r->edges_total)},
	    {"library_instrumented", json_boolean(r->has_library)},
	    {"ft", summary_json_integer(r->ft)},
	    {"corpus_units", summary_json_integer(r->corpus_units)},
	    {"seeds", summary_json_integer(r->seeds)},
	    {"dictionary_entries", summary_json_integer(r->dict_entries)},
	    {"dictionary_words", summary_json_integer(r->dict_own)},
	    {"inputs_kept", kept_json(r)},
	    {"input_timeout_seconds", summary_json_seconds(r->input_timeout_us)},
	    {"new_inputs", summary_json_integer(r->new_inputs)},
	    {"new_input_bytes", summary_json_integer(r->new_bytes)},
	    {"files_skipped", summary_json_integer(r->collect_skipped)},
	    {"memory_peak_bytes", summary_json_integer(r->memory_peak)},
	    {"memory_limit_bytes", summary_json_integer(r->memory_limit)},
	    {"rss_peak_bytes", summary_json_integer(r->rss_peak)},
	    {"kernel_oom_kills", summary_json_integer(r->oom_kills)},
	    {"forks_refused", summary_json_integer(r->pids_refused)},
	    {"syscalls_refused", summary_json_text(r->refused)},
	    {"failures", failures_json(r)},
	    {"failures_total", summary_json_integer(r->failures_total)},
	    {"restarts", summary_json_integer(r->restarts)},
	    {"corpus", corpus_json(r)},
	    {"crashes", crashes_json(r)},
	    {"crashes_new", summary_json_integer(r->crashes_new)},
	    {"crashes_regressed", summary_json_integer(r->crashes_regressed)},
	    {"crashes_fixed", summary_json_integer(r->crashes_fixed)},
	    {"crashes_unchecked", summary_json_integer(r->crashes_unchecked)},
	    {"timeouts_dismissed", summary_json_integer(r->dismissed)},
	    {"timeouts_undecided", summary_json_integer(r->undecided)},
	    {"untriaged", summary_json_integer(r->untriaged)},
	    {"artifacts", artifacts_json(r)},
	    {"log_bytes_dropped", summary_json_integer(r->log_dropped)},
	};

	return ADD(json_object(), f);
}

/* --- a target's line ----------------------------------------------------------- */

json_t *summary_target_line(const struct run_view *v, const struct target_row *r, uint64_t real_us)
{
	_autojson_ json_t *all = summary_target_json(r);
	struct field f[] = {
	    {"v", json_integer(LINE_VERSION)},
	    {"run", summary_json_text(v->id)},
	    {"ended", summary_json_when(real_us)},
	    {"commit", v->commit && !r->rebuilt ? summary_json_text(v->commit) : json_null()},
	};
	json_t *j = ADD(json_object(), f);

	json_object_set_new(all, "crashes", summary_json_integer(r->n_crashes));
	json_object_del(all, "artifacts");
	json_object_update(j, all);
	return j;
}

/* --- a run ----------------------------------------------------------------------- */

json_t *summary_run_json(const struct run_view *v)
{
	struct summary_sums s = summary_sums(v);
	struct field f[] = {
	    {"v", json_integer(SUMMARY_VERSION)},
	    {"run", summary_json_text(v->id)},
	    {"status", json_string(*v->shortage	    ? "failed"
				   : v->interrupted ? "stopped"
						    : "done")},
	    {"version", summary_json_text(v->version)},
	    {"commit", v->commit ? summary_json_text(v->commit) : json_null()},
	    {"cgroup_layout", summary_json_text(v->layout)},
	    {"started", summary_json_when(v->started_real_us)},
	    {"ended", summary_json_when(v->ended_real_us)},
	    {"elapsed_seconds", summary_json_seconds(v->elapsed_us)},
	    {"workers", json_integer(v->workers_most)},
	    {"failures", summary_json_integer(s.failures)},
	    {"new_crashes", summary_json_integer(s.crashes_new)},
	    {"regressed_crashes", summary_json_integer(s.regressed)},
	    {"fixed_crashes", summary_json_integer(s.fixed)},
	    {"untriaged", summary_json_integer(s.untriaged)},
	    {"given_up", summary_json_integer(summary_given_up(v))},
	    {"not_fuzzed", summary_json_integer(summary_unfuzzed(v))},
	    {"build_failed", json_boolean(v->build_failed)},
	    {"own_cpu_seconds", summary_json_seconds(v->own_cpu_us)},
	    {"own_peak_rss_bytes", summary_json_integer(v->own_peak_rss)},
	};

	return ADD(json_object(), f);
}

static int summary_json_print_target(const struct target_row *r, struct buf *out, struct err *e)
{
	_autojson_ json_t *j = summary_target_json(r);
	_autofree_ char *line = NULL;
	int rc = json_print(j, 0, &line, e);

	if (rc == 0)
		buf_printf(out, "    %s", line);
	return rc;
}

/* Printed target by target: a tree of 2,000 targets would take megabytes. */
int summary_print(const struct run_view *v, struct buf *out, struct err *e)
{
	_autojson_ json_t *j = summary_run_json(v);
	_autofree_ char *run = NULL;
	int r = json_print(j, 2, &run, e);

	if (r < 0)
		return r;
	/* without its last brace */
	buf_printf(out, "%.*s,\n  \"targets\": [", (int)strlen(run) - 2, run);
	for (size_t i = 0; r == 0 && i < v->n_rows; i++) {
		buf_puts(out, i ? ",\n" : "\n");
		r = summary_json_print_target(&v->rows[i], out, e);
	}
	buf_puts(out, "\n  ]\n}");
	return r < 0 ? r : buf_check(out, e);
}

/* Saturates, because targets control these numbers. */
static uint64_t summary_json_plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

json_t *summary_run_line(const struct run_view *v)
{
	uint64_t fuzzed = 0, cpu_us = 0, execs = 0, inputs = 0;

	for (size_t i = 0; i < v->n_rows; i++) {
		fuzzed += v->rows[i].fuzzed;
		cpu_us += v->rows[i].cpu_us;
		execs = summary_json_plus(execs, v->rows[i].execs);
		inputs += v->rows[i].new_inputs;
	}
	struct field f[] = {
	    {"v", json_integer(LINE_VERSION)},
	    {"continuous", json_boolean(v->continuous)},
	    {"targets", summary_json_integer(v->n_rows)},
	    {"fuzzed", summary_json_integer(fuzzed)},
	    {"cpu_seconds", summary_json_seconds(cpu_us)},
	    {"execs", summary_json_integer(execs)},
	    {"new_inputs", summary_json_integer(inputs)},
	};
	return ADD(summary_run_json(v), f);
}
