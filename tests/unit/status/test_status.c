/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/status/status.h"
#include "tests/unit/status/rows.h"

#include <errno.h>

/* A run's status, and the table of it. */

static struct target_row rows[ROWS];
static struct run_view view;

static int each_setup(void **state)
{
	(void)state;
	rows_fill(rows);
	view = view_of(rows);
	view.ended_real_us = 0;
	view.pid = 4711;
	return 0;
}

static json_t *status(void)
{
	return status_json(&view);
}

static void a_run_and_its_targets(void **state)
{
	_autojson_ json_t *o = status();
	const json_t *run = json_object_get(o, "run"), *targets = json_object_get(o, "targets");
	const json_t *one = json_array_get(targets, ROW_CRASHED);

	(void)state;
	assert_string_equal(json_string_value(json_object_get(run, "status")), "running");
	assert_int_equal(json_integer_value(json_object_get(run, "pid")), 4711);
	assert_true(json_is_null(json_object_get(run, "ended")));
	assert_null(json_object_get(run, "targets"));
	assert_int_equal(json_array_size(targets), ROWS);
	assert_string_equal(json_string_value(json_object_get(one, "state")), "crashed");
	assert_int_equal(json_integer_value(json_object_get(one, "memory_bytes")), 100 << 20);
	assert_int_equal(json_integer_value(json_object_get(one, "failures_total")), 3);
	assert_null(json_object_get(one, "artifacts"));
	assert_null(json_object_get(one, "crashes"));
}

static void one_target_has_all_of_it(void **state)
{
	_autojson_ json_t *o = status_target_json(&rows[ROW_CRASHED]);

	(void)state;
	assert_int_equal(json_array_size(json_object_get(o, "artifacts")), 3);
	assert_int_equal(json_array_size(json_object_get(o, "crashes")), 1);
}

static void a_table_reads_a_status(void **state)
{
	_autofree_ struct target_row *back = NULL;
	_autojson_ json_t *o = NULL;
	struct run_view v;
	struct err e;

	(void)state;
	view.interrupted = view.continuous = true;
	rows[ROW_DONE].found = true;
	rows[ROW_DONE].silent_us = 90 * UINT64_C(1000000);
	o = status();
	assert_int_equal(status_view(o, &v, &back, &e), 0);
	assert_string_equal(v.id, view.id);
	assert_true(v.interrupted && v.continuous && !v.paused);
	assert_int_equal(v.workers, 2);
	assert_int_equal(v.running, 1);
	assert_int_equal(v.elapsed_us, view.elapsed_us);
	assert_int_equal(v.total_us, view.total_us);
	assert_int_equal(v.n_rows, ROWS);
	for (size_t i = 0; i < ROWS; i++) {
		assert_string_equal(back[i].name, rows[i].name);
		assert_string_equal(back[i].state, rows[i].state);
		assert_int_equal(back[i].done, rows[i].done);
		assert_int_equal(back[i].wall_us, rows[i].wall_us);
		assert_int_equal(back[i].memory_peak, rows[i].memory_peak);
		assert_int_equal(back[i].failures_total, rows[i].failures_total);
		assert_int_equal(back[i].unfuzzed, rows[i].unfuzzed);
		assert_int_equal(back[i].found, rows[i].found);
		assert_int_equal(back[i].silent_us, rows[i].silent_us);
	}
}

/* Any process may listen on the socket. */
static void any_json_makes_a_table_or_an_error(void **state)
{
	static const char *const answers[] = {
	    "{}",
	    "{\"run\": 7, \"targets\": []}",
	    "{\"run\": {}, \"targets\": {}}",
	    "{\"run\": {\"run\": 7, \"elapsed_seconds\": -1e300, \"total_seconds\": 1e300,"
	    " \"workers\": -4}, \"targets\": [7, null, {\"name\": [], \"wall_seconds\": \"x\","
	    " \"cov\": -1, \"pressure_cpu\": 1e99}]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		_autofree_ struct target_row *back = NULL;
		_autojson_ json_t *o = NULL;
		struct run_view v;
		struct err e;
		int r;

		assert_int_equal(json_parse(slice_of(answers[i]), &o, &e), 0);
		r = status_view(o, &v, &back, &e);
		assert_int_equal(r, i < 3 ? -EPROTO : 0);
		if (r < 0)
			continue;
		assert_int_equal(v.n_rows, 3);
		assert_string_equal(back[2].name, "");
		assert_int_equal(back[2].cov, 0);
		assert_true(back[2].pressure_cpu <= 1);
	}
}

/* Small in the answer, large as rows. */
static void more_than_any_run_has_is_no_status(void **state)
{
	_autojson_ json_t *all = json_array();
	_autojson_ json_t *o = json_pack("{s:{}, s:O}", "run", "targets", all);
	struct target_row *back = NULL;
	struct run_view v;
	struct err e;

	(void)state;
	for (unsigned i = 0; i < 65536; i++)
		assert_int_equal(json_array_append_new(all, json_integer(1)), 0);
	assert_int_equal(status_view(o, &v, &back, &e), 0);
	assert_int_equal(v.n_rows, 65536);
	free(back);
	assert_int_equal(json_array_append_new(all, json_integer(1)), 0);
	assert_int_equal(status_view(o, &v, &back, &e), -EPROTO);
}

#define CASE(f) cmocka_unit_test_setup(f, each_setup)

static const struct CMUnitTest tests[] = {
    CASE(a_run_and_its_targets),
    CASE(one_target_has_all_of_it),
    CASE(a_table_reads_a_status),
    CASE(any_json_makes_a_table_or_an_error),
    CASE(more_than_any_run_has_is_no_status),
};

UNIT_MAIN(tests)
