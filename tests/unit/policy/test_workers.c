/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/policy/workers.h"

#define S UINT64_C(1000000)

struct machine {
	struct workers w;
	struct workers_reading r;
	unsigned more, less, memory; /* the answers */
};

static void begin(struct machine *m, unsigned most)
{
	*m = (struct machine){.r.at_us = 5 * S};
	workers_begin(&m->w, most);
	assert_int_equal(workers_read(&m->w, &m->r), WORKERS_SAME);
}

static void pass(struct machine *m, unsigned seconds, double cpu, double memory)
{
	for (unsigned i = 0; i < seconds; i++) {
		m->r.at_us += S;
		m->r.cpu_some_us += (uint64_t)(cpu * S);
		m->r.memory_full_us += (uint64_t)(memory * S);
		switch (workers_read(&m->w, &m->r)) {
		case WORKERS_MORE:
			m->more++;
			break;
		case WORKERS_LESS:
			m->less++;
			break;
		case WORKERS_MEMORY:
			m->memory++;
			break;
		case WORKERS_SAME:
			break;
		}
	}
}

/* After a suspension of hours the load of that time takes no worker away. */
static void a_pause_is_no_busy_time(void **state)
{
	struct machine m;

	(void)state;
	begin(&m, 3);
	m.r.at_us += 7200 * S;
	m.r.cpu_some_us += 7000 * S;
	m.r.memory_full_us += 2000 * S;
	assert_int_equal(workers_read(&m.w, &m.r), WORKERS_SAME);
	pass(&m, 60, 0, 0);
	assert_int_equal(m.w.now, 3);
	assert_int_equal(m.less + m.memory, 0);
}

static void busy_is_less_and_quiet_is_more(void **state)
{
	struct machine m;

	(void)state;
	begin(&m, 3);
	pass(&m, 600, 0.15, 0); /* neither more nor fewer workers */
	assert_int_equal(m.w.now, 3);
	pass(&m, 20, 0.9, 0);
	assert_int_equal(m.w.now, 3);
	pass(&m, 25, 0.9, 0);
	assert_int_equal(m.w.now, 2);
	pass(&m, 600, 0.9, 0);
	assert_int_equal(m.w.now, 1); /* and not fewer */
	assert_int_equal(m.less, 2);
	pass(&m, 60, 0, 0);
	assert_int_equal(m.w.now, 1);
	pass(&m, 40, 0, 0);
	assert_int_equal(m.w.now, 2);
	pass(&m, 600, 0, 0);
	assert_int_equal(m.w.now, 3);
	assert_int_equal(m.more, 2);
}

/* PSI also counts the waits of cells that their own limits throttle. */
static void own_limits_are_no_pressure(void **state)
{
	struct machine m;

	(void)state;
	begin(&m, 3);
	m.r.throttled = 0.75; /* two cells with half a CPU each, throttled at different times */
	pass(&m, 600, 0.75, 0);
	assert_int_equal(m.w.now, 3);
	assert_true(m.w.cpu < 0.01);
	pass(&m, 60, 0.9, 0); /* in three fifths of the remaining time other tasks wait */
	assert_int_equal(m.w.now, 2);
	m.r.throttled = 0.95; /* hardly any time is left to measure pressure */
	pass(&m, 200, 1, 0);
	assert_int_equal(m.w.now, 3);
	m.r.throttled = 0;
	pass(&m, 45, 0.9, 0);
	assert_int_equal(m.w.now, 2);
}

/* A short peak does not count as pressure. */
static void short_peaks_are_nothing(void **state)
{
	struct machine m;

	(void)state;
	begin(&m, 4);
	for (int i = 0; i < 50; i++) {
		pass(&m, 3, 1, 0.3);
		pass(&m, 40, 0.1, 0);
	}
	assert_int_equal(m.less + m.memory, 0);
	assert_int_equal(m.w.now, 4);
}

static void memory_is_sooner(void **state)
{
	struct machine m;

	(void)state;
	begin(&m, 4);
	pass(&m, 15, 0, 0.5);
	assert_int_equal(m.memory, 1);
	assert_int_equal(m.w.now, 3);
	pass(&m, 600, 0, 0.5);
	assert_int_equal(m.w.now, 1);
	pass(&m, 600, 0, 0.07); /* some memory pressure */
	assert_int_equal(m.w.now, 1);
}

static void a_limit_from_outside(void **state)
{
	struct machine m;

	(void)state;
	begin(&m, 4);
	workers_limit(&m.w, 2);
	assert_int_equal(m.w.now, 2);
	workers_limit(&m.w, 6);
	assert_int_equal(m.w.now, 6); /* there was no pressure */
	pass(&m, 45, 0.9, 0);
	assert_int_equal(m.w.now, 5);
	workers_limit(&m.w, 8);
	assert_int_equal(m.w.now, 5);
	workers_limit(&m.w, 4);
	assert_int_equal(m.w.now, 4);
}

/* Totals that decrease, and a clock that stands still, are ignored. */
static void odd_readings_are_nothing(void **state)
{
	struct machine m;

	(void)state;
	begin(&m, 2);
	pass(&m, 10, 1, 1);
	m.r.cpu_some_us = m.r.memory_full_us = 0;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(workers_read(&m.w, &m.r), WORKERS_SAME);
	m.r.at_us = 0;
	assert_int_equal(workers_read(&m.w, &m.r), WORKERS_SAME);
	assert_int_equal(m.w.now, 2);
}

/* 4 % of the time on average, in bursts of two seconds. */
static void a_little_pressure_gives_a_worker_back(void **state)
{
	struct machine m;

	(void)state;
	begin(&m, 2);
	pass(&m, 45, 0.9, 0);
	assert_int_equal(m.w.now, 1);
	for (unsigned i = 0; i < 100 && m.w.now == 1; i++) {
		pass(&m, 8, 0, 0);
		pass(&m, 2, 0.2, 0);
	}
	assert_int_equal(m.w.now, 2);
	pass(&m, 600, 0.08, 0); /* some CPU pressure */
	assert_int_equal(m.w.now, 2);
	pass(&m, 45, 0.9, 0);
	pass(&m, 600, 0.08, 0);
	assert_int_equal(m.w.now, 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(busy_is_less_and_quiet_is_more),
    cmocka_unit_test(own_limits_are_no_pressure),
    cmocka_unit_test(short_peaks_are_nothing),
    cmocka_unit_test(memory_is_sooner),
    cmocka_unit_test(a_limit_from_outside),
    cmocka_unit_test(odd_readings_are_nothing),
    cmocka_unit_test(a_pause_is_no_busy_time),
    cmocka_unit_test(a_little_pressure_gives_a_worker_back),
};

UNIT_MAIN(tests)
