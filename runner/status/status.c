/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/status.h"

#include "base/clock.h"
#include "base/memory.h"
#include "runner/status/summary.h"

#include <errno.h>

static json_t *status_integer(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

static json_t *status_real(double d)
{
	json_t *j = json_real(d);

	return j ? j : json_null(); /* JSON has neither infinity nor NaN */
}

json_t *status_target_json(const struct target_row *r)
{
	json_t *o = summary_target_json(r);

	json_object_set_new(o, "state", json_string(r->state));
	json_object_set_new(o, "done", json_boolean(r->done));
	json_object_set_new(o, "not_fuzzed", json_boolean(r->unfuzzed));
	json_object_set_new(o, "seconds_since_find",
			    r->found ? json_real((double)r->silent_us / USEC_PER_SEC)
				     : json_null());
	json_object_set_new(o, "memory_bytes", status_integer(r->memory_now));
	json_object_set_new(o, "corpus_bytes", status_integer(r->corpus_bytes));
	json_object_set_new(o, "pressure_cpu", status_real(r->pressure_cpu));
	json_object_set_new(o, "pressure_memory", status_real(r->pressure_memory));
	json_object_set_new(o, "pressure_io", status_real(r->pressure_io));
	json_object_set_new(o, "pressure_state", json_string(r->pressure_state));
	return o;
}

static json_t *run_json(const struct run_view *v)
{
	json_t *o = summary_run_json(v);

	json_object_set_new(o, "status", json_string(v->interrupted ? "stopping" : "running"));
	json_object_set_new(o, "total_seconds",
			    v->total_us ? json_real((double)v->total_us / USEC_PER_SEC)
					: json_null());
	json_object_set_new(o, "workers", json_integer(v->workers));
	json_object_set_new(o, "running", json_integer(v->running));
	json_object_set_new(o, "paused", json_boolean(v->paused));
	json_object_set_new(o, "continuous", json_boolean(v->continuous));
	json_object_set_new(o, "pid", json_integer(v->pid));
	return o;
}

static json_t *status_lean(const struct target_row *row)
{
	struct target_row lean = *row;
	json_t *o;

	lean.artifacts = "";
	lean.n_crashes = 0;
	o = status_target_json(&lean);
	json_object_del(o, "artifacts");
	json_object_del(o, "crashes");
	return o;
}

json_t *status_json(const struct run_view *v)
{
	json_t *o = json_object(), *all = json_array();

	json_object_set_new(o, "run", run_json(v));
	json_object_set_new(o, "targets", all);
	for (size_t i = 0; i < v->n_rows; i++)
		json_array_append_new(all, status_lean(&v->rows[i]));
	return o;
}

/* --- from JSON ----------------------------------------------------------------------------- */

static double real(const json_t *o, const char *key, double most)
{
	double d = json_number_value(json_object_get(o, key));

	return d > 0 ? (d < most ? d : most) : 0;
}

static bool status_is(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

static struct target_row status_row_of(const json_t *o)
{
	return (struct target_row){
	    .name = json_get_text(o, "name"),
	    .state = json_get_text(o, "state"),
	    .reason = json_get_text(o, "reason"),
	    .note = json_get_text(o, "note"),
	    .done = status_is(o, "done"),
	    .fuzzed = status_is(o, "fuzzed"),
	    .unfuzzed = status_is(o, "not_fuzzed"),
	    .given_up = status_is(o, "given_up"),
	    .found = json_is_number(json_object_get(o, "seconds_since_find")),
	    .silent_us = json_get_us(o, "seconds_since_find"),
	    .new_inputs = json_get_u64(o, "new_inputs"),
	    .restarts = json_get_u64(o, "restarts"),
	    .wall_us = json_get_us(o, "wall_seconds"),
	    .cpu_us = json_get_us(o, "cpu_seconds"),
	    .pressure_cpu = real(o, "pressure_cpu", 1),
	    .pressure_memory = real(o, "pressure_memory", 1),
	    .pressure_io = real(o, "pressure_io", 1),
	    .pressure_state = json_get_text(o, "pressure_state"),
	    .execs = json_get_u64(o, "execs"),
	    .exec_per_s = json_get_u64(o, "execs_per_cpu_second"),
	    .cov = json_get_u64(o, "cov"),
	    .edges_total = json_get_u64(o, "edges"),
	    .ft = json_get_u64(o, "ft"),
	    .corpus_units = json_get_u64(o, "corpus_units"),
	    .corpus_bytes = json_get_u64(o, "corpus_bytes"),
	    .memory_now = json_get_u64(o, "memory_bytes"),
	    .memory_peak = json_get_u64(o, "memory_peak_bytes"),
	    .memory_limit = json_get_u64(o, "memory_limit_bytes"),
	    .failures_total = json_get_u64(o, "failures_total"),
	    .refused = "",
	    .forged = "",
	    .artifacts = "",
	};
}

/* Far above real runs.  This number of rows takes 50 MB, and an answer could claim millions. */
enum { TARGETS_MAX = 1 << 16 };

int status_view(const json_t *o, struct run_view *ret, struct target_row **ret_rows, struct err *e)
{
	const json_t *run = json_object_get(o, "run"), *targets = json_object_get(o, "targets");
	size_t n = json_array_size(targets);
	struct target_row *rows;

	if (!json_is_object(run) || !json_is_array(targets) || n > TARGETS_MAX)
		return err_set(e, EPROTO, "the run's answer is not a status");
	rows = xcalloc(n ? n : 1, sizeof(*rows));
	for (size_t i = 0; i < n; i++)
		rows[i] = status_row_of(json_array_get(targets, i));
	*ret = (struct run_view){
	    .id = json_get_text(run, "run"),
	    .version = json_get_text(run, "version"),
	    .elapsed_us = json_get_us(run, "elapsed_seconds"),
	    .total_us = json_get_us(run, "total_seconds"),
	    .workers = (unsigned)json_get_u64(run, "workers"),
	    .running = (unsigned)json_get_u64(run, "running"),
	    .paused = status_is(run, "paused"),
	    .continuous = status_is(run, "continuous"),
	    .interrupted = strcmp(json_get_text(run, "status"), "stopping") == 0,
	    .rows = rows,
	    .n_rows = n,
	};
	*ret_rows = rows;
	return 0;
}
