/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "runner/trigger/quiet.h"
#include "tests/unit/scratch.h"

#define STAT                                 \
	"cpu  100 20 30 800 50 5 5 90 7 7\n" \
	"cpu0 50 10 15 400 25 2 3 45 0 0\n"  \
	"cpu1 50 10 15 400 25 3 2 45 0 0\n"  \
	"intr 1 2 3\n"

static void test_parse(void **state)
{
	struct quiet_sample s = {0}, before;

	(void)state;
	assert_true(quiet_parse_stat(SLICE(STAT), &s));
	assert_true(s.all_ticks == 1100 && s.steal_ticks == 90 && s.busy_ticks == 160);
	assert_int_equal(s.cpus, 2);
	assert_true(quiet_parse_load(SLICE("12.34 0.00 0.00 1/2 3\n"), &s));
	assert_int_equal(s.load, 12340);
	assert_true(quiet_parse_load(SLICE("0.5"), &s));
	assert_int_equal(s.load, 500);
	assert_true(quiet_parse_load(SLICE("1.23456"), &s));
	assert_int_equal(s.load, 1234);
	assert_true(quiet_parse_pressure(
	    SLICE("some avg10=1.00 avg60=43.21 avg300=0.10 total=5\nfull avg10=0.00"), &s));
	assert_int_equal(s.pressure, 432);
	assert_true(s.has_pressure);
	memcpy(&before, &s, sizeof(s)); /* with padding */
	assert_false(quiet_parse_stat(SLICE(""), &s));
	assert_false(quiet_parse_stat(SLICE("cpu  1 2 3\ncpu0 1\n"), &s));
	assert_false(quiet_parse_stat(SLICE("cpu  1 2 3 4 5 6 7 8\nintr 1\n"), &s));
	assert_false(
	    quiet_parse_stat(SLICE("cpu  1 2 3 4 5 6 7 99999999999999999999\ncpu0\n"), &s));
	assert_false(quiet_parse_load(SLICE("many"), &s));
	assert_false(quiet_parse_load(SLICE("1."), &s));
	assert_false(quiet_parse_pressure(SLICE("some avg10=1.00"), &s));
	assert_false(quiet_parse_pressure(SLICE("full avg10=1.00 avg60=1.00"), &s));
	assert_memory_equal(&s, &before, sizeof(s));
}

static void test_read(void **state)
{
	struct scratch dir = SCRATCH_INIT;
	struct quiet_sample s;
	struct err e;

	(void)state;
	assert_int_equal(quiet_read("/proc", &s, &e), 0);
	assert_true(s.cpus >= 1 && s.all_ticks > 0);
	scratch_make(&dir);
	assert_int_equal(quiet_read(dir.path, &s, &e), -ENOENT);
	scratch_write(dir.fd, "stat", STAT);
	scratch_write(dir.fd, "loadavg", "0.10 0 0");
	assert_int_equal(quiet_read(dir.path, &s, &e), 0); /* a kernel without pressure */
	assert_false(s.has_pressure);
	assert_int_equal(s.load, 100);
	assert_int_equal(mkdirat(dir.fd, "pressure", 0700), 0);
	scratch_write(dir.fd, "pressure/cpu", "some avg10=0.00 avg60=1.00 avg300=0.00 total=1\n");
	assert_int_equal(quiet_read(dir.path, &s, &e), 0);
	assert_true(s.has_pressure && s.pressure == 10);
	scratch_write(dir.fd, "stat", "nonsense");
	assert_int_equal(quiet_read(dir.path, &s, &e), -EPROTO);
	assert_non_null(strstr(e.msg, "stat"));
	scratch_remove(&dir);
}

static void test_between(void **state)
{
	struct quiet_sample a = {.at_us = 1, .busy_ticks = 100, .all_ticks = 1000, .cpus = 2},
			    b = a;
	struct quiet_reading r;

	(void)state;
	b.at_us += 5 * USEC_PER_SEC; /* 1000 ticks of two CPUs */
	b.all_ticks += 1000;
	b.busy_ticks += 700;
	b.steal_ticks += 50;
	b.load = 3000;
	b.own_us = 4 * USEC_PER_SEC; /* 400 ticks of these */
	r = quiet_between(&a, &b);
	assert_int_equal(r.load, 1500);
	assert_int_equal(r.steal, 50);
	assert_int_equal(r.others, 300);
	b.own_us = 9 * USEC_PER_SEC; /* counted differently: never below zero */
	assert_int_equal(quiet_between(&a, &b).others, 0);
	a.own_us = 100 * USEC_PER_SEC; /* the groups were removed */
	assert_int_equal(quiet_between(&a, &b).others, 700);
	r = quiet_between(&b, &b);
	assert_int_equal(r.steal + r.others, 0);
	r = quiet_between(&b, &a); /* counters that restart */
	assert_int_equal(r.steal + r.others, 0);
}

static struct quiet_answer ask(enum quiet_mode mode, struct quiet_reading r, bool ours,
			       uint64_t waited_us)
{
	struct trigger_config c = {.quiet = {.mode = mode,
					     .load = 1000,
					     .cpu_pressure = 400,
					     .steal = 100,
					     .workers = 3,
					     .patience_us = 1000}};
	struct quiet_answer a;

	quiet_decide(&c, &r, ours, waited_us, &a);
	assert_int_equal(a.what == QUIET_ALL, *a.why == '\0');
	return a;
}

static void test_decide(void **state)
{
	static const struct quiet_reading calm = {.load = 1000,
						  .steal = 100,
						  .has_pressure = true,
						  .pressure = 400},
					  loaded = {.load = 1001}, stolen = {.steal = 101},
					  pressed = {.has_pressure = true, .pressure = 401},
					  stale = {.pressure = 1000};
	struct trigger_config off = {.quiet.mode = QUIET_WAIT};
	struct quiet_answer a;

	(void)state;
	assert_int_equal(ask(QUIET_WAIT, calm, false, 0).what, QUIET_ALL);
	assert_int_equal(ask(QUIET_OFF, loaded, false, 0).what, QUIET_ALL);
	assert_int_equal(ask(QUIET_WAIT, loaded, false, 0).what, QUIET_NOT_NOW);
	assert_int_equal(ask(QUIET_WAIT, stolen, false, 0).what, QUIET_NOT_NOW);
	assert_int_equal(ask(QUIET_WAIT, pressed, false, 0).what, QUIET_NOT_NOW);
	assert_int_equal(ask(QUIET_WAIT, stale, false, 0).what, QUIET_ALL);
	a = ask(QUIET_FEWER, loaded, false, 0);
	assert_int_equal(a.what, QUIET_SOME);
	assert_int_equal(a.workers, 3);
	assert_non_null(strstr(a.why, "load per CPU 1.001, limit 1.000"));
	/* After the maximum wait the run starts, with few workers. */
	assert_int_equal(ask(QUIET_WAIT, loaded, false, 999).what, QUIET_NOT_NOW);
	a = ask(QUIET_WAIT, loaded, false, 1000);
	assert_int_equal(a.what, QUIET_SOME);
	assert_int_equal(a.workers, 3);
	quiet_decide(&off, &(struct quiet_reading){.load = UINT32_MAX, .steal = 1000}, false, 0,
		     &a);
	assert_int_equal(a.what, QUIET_ALL); /* the load is not read */
}

/* Load and pressure of our own runs do not count as other work. */
static void test_ours(void **state)
{
	struct quiet_reading r = {
	    .load = 9000, .has_pressure = true, .pressure = 990, .others = 500};

	(void)state;
	assert_int_equal(ask(QUIET_WAIT, r, false, 0).what, QUIET_NOT_NOW);
	assert_int_equal(ask(QUIET_WAIT, r, true, 0).what, QUIET_ALL);
	r.others = 501; /* as much as ours: a load of one beside our own */
	assert_int_equal(ask(QUIET_WAIT, r, true, 0).what, QUIET_NOT_NOW);
	r.others = 0;
	r.steal = 500;
	assert_int_equal(ask(QUIET_WAIT, r, true, 0).what, QUIET_NOT_NOW);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_parse),  cmocka_unit_test(test_read), cmocka_unit_test(test_between),
    cmocka_unit_test(test_decide), cmocka_unit_test(test_ours),
};

UNIT_MAIN(tests)
