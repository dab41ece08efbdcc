/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/status.h"

#include "base/clock.h"
#include "base/memory.h"
#include "runner/status/summary.h"

#include <errno.h>

static int status_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "build JSON");
}

static json_t *status_integer(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

int status_target_json(const struct target_row *r, json_t **ret, struct err *e)
{
	_autojson_ json_t *o = NULL;
	int rc = summary_target_json(r, &o, e), bad = 0;

	if (rc < 0)
		return rc;
	bad |= json_object_set_new(o, "state", json_string(r->state));
	bad |= json_object_set_new(o, "done", json_boolean(r->done));
	bad |= json_object_set_new(o, "not_fuzzed", json_boolean(r->unfuzzed));
	bad |= json_object_set_new(o, "seconds_since_find",
				   r->found ? json_real((double)r->silent_us / USEC_PER_SEC)
					    : json_null());
	bad |= json_object_set_new(o, "memory_bytes", status_integer(r->memory_now));
	bad |= json_object_set_new(o, "corpus_bytes", status_integer(r->corpus_bytes));
	bad |= json_object_set_new(o, "pressure_cpu", json_real(r->pressure_cpu));
	bad |= json_object_set_new(o, "pressure_memory", json_real(r->pressure_memory));
	bad |= json_object_set_new(o, "pressure_io", json_real(r->pressure_io));
	bad |= json_object_set_new(o, "pressure_state", json_string(r->pressure_state));
	if (bad)
		return status_no_memory(e);
	*ret = json_incref(o);
	return 0;
}

static int run_json(const struct run_view *v, json_t **ret, struct err *e)
{
	_autojson_ json_t *o = NULL;
	int rc = summary_run_json(v, &o, e), bad = 0;

	if (rc < 0)
		return rc;
	bad |=
	    json_object_set_new(o, "status", json_string(v->interrupted ? "stopping" : "running"));
	bad |= json_object_set_new(o, "total_seconds",
				   v->total_us ? json_real((double)v->total_us / USEC_PER_SEC)
					       : json_null());
	bad |= json_object_set_new(o, "workers", json_integer(v->workers));
	bad |= json_object_set_new(o, "running", json_integer(v->running));
	bad |= json_object_set_new(o, "paused", json_boolean(v->paused));
	bad |= json_object_set_new(o, "continuous", json_boolean(v->continuous));
	bad |= json_object_set_new(o, "pid", json_integer(v->pid));
	if (bad)
		return status_no_memory(e);
	*ret = json_incref(o);
	return 0;
}

static int status_add_target(const struct target_row *row, json_t *all, struct err *e)
{
	struct target_row lean = *row;
	json_t *one;
	int r;

	lean.artifacts = "";
	lean.n_crashes = 0;
	r = status_target_json(&lean, &one, e);
	if (r < 0)
		return r;
	(void)json_object_del(one, "artifacts");
	(void)json_object_del(one, "crashes");
	return json_array_append_new(all, one) < 0 ? status_no_memory(e) : 0;
}

int status_json(const struct run_view *v, json_t **ret, struct err *e)
{
	_autojson_ json_t *o = json_object();
	json_t *run = NULL, *all = json_array();
	int r = run_json(v, &run, e);

	if (r < 0) {
		json_decref(all);
		return r;
	}
	if (json_object_set_new(o, "run", run) < 0 || json_object_set_new(o, "targets", all) < 0)
		return status_no_memory(e);
	for (size_t i = 0; r == 0 && i < v->n_rows; i++)
		r = status_add_target(&v->rows[i], all, e);
	if (r == 0)
		*ret = json_incref(o);
	return r;
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
	if (!rows)
		return err_sys(e, "allocate %zu targets", n);
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
