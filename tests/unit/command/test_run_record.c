/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "runner/command/run/record.h"
#include "runner/state/history.h"
#include "tests/unit/state/stats.h"
#include "tests/unit/status/rows.h"

static struct target_row rows[ROWS];

static struct run_view filled(void)
{
	rows_fill(rows);
	return view_of(rows);
}

static size_t lines(const char *name, json_t **ret_newest)
{
	json_t *all;
	uint64_t damaged;
	struct err e;
	size_t n;

	assert_int_equal(history_last(&state_of, name, 100, &all, &damaged, &e), 0);
	assert_int_equal(damaged, 0);
	n = json_array_size(all);
	if (ret_newest)
		*ret_newest = json_incref(json_array_get(all, n - 1));
	json_decref(all);
	return n;
}

static void test_end(void **state)
{
	struct run_view v = filled();
	struct run_dirs d = {.logs = -1};
	struct err e;
	json_t *j;

	(void)state;
	assert_int_equal(mkdirat(dir.fd, "logs", 0755), 0);
	d.logs = openat(dir.fd, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(record_run(&state_of, &d, &v, &e), 0);
	assert_int_equal(record_run(&state_of, &d, &v, &e), 0);
	assert_int_equal(lines("run_history.jsonl", &j), 2);
	assert_int_equal(json_integer_value(json_object_get(j, "targets")), ROWS);
	json_decref(j);
	assert_int_equal(lines("targets/crashes.jsonl", &j), 2);
	assert_string_equal(json_string_value(json_object_get(j, "reason")), "crashed");
	json_decref(j);
	for (size_t i = 0; i < ROWS; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s.stats", rows[i].name);
		/* A target that only waited is in summary.json only. */
		assert_int_equal(scratch_has(d.logs, name), i != ROW_QUEUED);
	}
	assert_int_equal(lines("targets/waits.jsonl", NULL), 0);
	assert_true(scratch_has(d.logs, "summary.json"));
	close(d.logs);
}

/* One part that fails does not hide the others. */
static void test_parts(void **state)
{
	struct run_view v = filled();
	struct run_dirs d = {.logs = -1}; /* not writable */
	struct err e;

	(void)state;
	assert_true(record_run(&state_of, &d, &v, &e) < 0);
	assert_string_not_equal(e.msg, "");
	assert_int_equal(lines("run_history.jsonl", NULL), 1);
	assert_int_equal(lines("targets/crashes.jsonl", NULL), 1);
}

static void day(struct record_days *d, struct run_view *v, uint64_t elapsed_us)
{
	v->elapsed_us = elapsed_us;
	record_second(d, v);
	record_days_done(d);
}

static void test_days(void **state)
{
	const uint64_t a_day = 86400 * USEC_PER_SEC;
	struct run_view v = filled();
	struct record_days d = {.state = &state_of};
	struct err e;

	(void)state;
	assert_int_equal(loop_new(&d.loop, &e), 0);
	day(&d, &v, 3 * a_day); /* an ended target has its lines then */
	assert_int_equal(lines("targets/fuzzes.jsonl", NULL), 0);
	v.continuous = true;
	day(&d, &v, a_day - 1);
	assert_int_equal(lines("targets/fuzzes.jsonl", NULL), 0);
	day(&d, &v, a_day);
	day(&d, &v, a_day + USEC_PER_SEC);
	day(&d, &v, 2 * a_day - 1);
	assert_int_equal(lines("targets/fuzzes.jsonl", NULL), 1);
	assert_int_equal(lines("targets/ended.jsonl", NULL), 1);
	assert_int_equal(lines("targets/waits.jsonl", NULL), 0);
	day(&d, &v, 2 * a_day);
	assert_int_equal(lines("targets/fuzzes.jsonl", NULL), 2);
	assert_int_equal(lines("run_history.jsonl", NULL), 0);
	/* Lines that cannot be written now are tried the next day. */
	fault_arm(1, FAULT_FAIL);
	day(&d, &v, 3 * a_day);
	fault_arm(0, FAULT_FAIL);
	day(&d, &v, 4 * a_day);
	assert_true(lines("targets/fuzzes.jsonl", NULL) >= 3);
	loop_free(d.loop);
}

static const struct CMUnitTest tests[] = {CASE(test_end), CASE(test_parts), CASE(test_days)};

UNIT_MAIN(tests)
