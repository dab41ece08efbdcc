/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/schedule/plateau.h"

#define S UINT64_C(1000000)

static const struct plateau_rules cpu10 = {PLATEAU_CPU_SILENCE, 600 * S, 0};
static const struct plateau_rules wall10 = {PLATEAU_WALL, 600 * S, 0};

/* A cell whose clock the test turns: shares of a second, each second. */
struct cell {
	struct effective_reading r;
	double cpu, system, wait, memory;
};

static void begin(struct plateau *p, struct cell *c)
{
	c->r = (struct effective_reading){.at_us = c->r.at_us};
	effective_begin(&p->clock, c->r.at_us, 0);
}

static void run(struct plateau *p, struct cell *c, unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++) {
		c->r.at_us += S;
		c->r.usage_us += (uint64_t)(c->cpu * S);
		c->r.system_us += (uint64_t)(c->system * S);
		c->r.cpu_stall_us += (uint64_t)(c->wait * S);
		c->r.memory_stall_us += (uint64_t)(c->memory * S);
		(void)effective_read(&p->clock, &c->r);
	}
}

static bool done(const struct plateau *p, const struct plateau_rules *r)
{
	return plateau_reached(p, r, 0, 0, 0);
}

static void test_quiet(void **state)
{
	struct cell c = {.r.at_us = 77 * S, .cpu = 1};
	struct plateau p = {0};

	(void)state;
	begin(&p, &c);
	assert_true(plateau_coverage(&p, 100, 200));
	run(&p, &c, 300);
	assert_true(plateau_coverage(&p, 101, 200));
	run(&p, &c, 599);
	assert_false(done(&p, &cpu10));
	assert_false(done(&p, &wall10));
	run(&p, &c, 1);
	assert_true(done(&p, &cpu10));
	assert_true(done(&p, &wall10));
	assert_int_equal(p.clock.clock_us, 900 * S);
	assert_int_equal(p.clock.wall_us, 900 * S);
	assert_int_equal(p.gains, 2);
	assert_int_equal(p.clock.state, EFFECTIVE_OK);
	assert_true(plateau_coverage(&p, 102, 0)); /* and one edge takes it all back */
	assert_false(done(&p, &cpu10));
	assert_false(done(&p, &wall10));
	assert_int_equal(p.ft, 200);
}

/* Ten busy neighbours: after the wall rule's window it has hardly run. */
static void test_starved(void **state)
{
	struct cell c = {.cpu = 0.1, .wait = 0.9};
	struct plateau p = {0};

	(void)state;
	begin(&p, &c);
	assert_true(plateau_coverage(&p, 1, 1));
	run(&p, &c, 1000);
	assert_true(done(&p, &wall10));
	assert_false(done(&p, &cpu10));
	assert_int_equal(p.clock.state, EFFECTIVE_STARVED);
	assert_int_equal(p.clock.clock_us, 100 * S);
	assert_int_equal(p.clock.waited_us, 900 * S);
	run(&p, &c, 4999);
	assert_false(done(&p, &cpu10));
	run(&p, &c, 1);
	assert_true(done(&p, &cpu10)); /* it got its ten minutes at last */
}

/* A new cell counts from zero again; the clock, the maxima and the silence go on. */
static void test_restart(void **state)
{
	struct cell c = {.cpu = 1};
	struct plateau p = {0};

	(void)state;
	begin(&p, &c);
	assert_true(plateau_coverage(&p, 500, 1000));
	run(&p, &c, 400);
	for (unsigned i = 0; i < 4; i++) {
		c.r.at_us += 5 * S; /* between two cells: nobody's time */
		begin(&p, &c);
		for (uint64_t cov = 1; cov <= 500; cov += 7) /* found again, one by one */
			assert_false(plateau_coverage(&p, cov, cov * 2));
		assert_false(plateau_coverage(&p, 500, 1000));
		run(&p, &c, 50);
	}
	assert_int_equal(p.clock.clock_us, 600 * S);
	assert_int_equal(p.clock.wall_us, 600 * S);
	assert_int_equal(p.gains, 1);
	assert_int_equal(p.cov, 500);
	assert_true(done(&p, &cpu10));
	assert_true(plateau_coverage(&p, 501, 0));
	assert_false(done(&p, &cpu10));
}

static void test_growing(void **state)
{
	struct cell c = {.cpu = 1};
	struct plateau p = {0};

	(void)state;
	begin(&p, &c);
	run(&p, &c, 5000);
	for (int i = 0; i < 2; i++) {
		const struct plateau_rules *r = i ? &wall10 : &cpu10;

		assert_false(plateau_reached(&p, r, 17, 4096, 1000));
		assert_false(plateau_reached(&p, r, 4095, 4096, 409599));
		assert_true(plateau_reached(&p, r, 17, 4096, 409600)); /* 100 runs a byte */
		assert_true(plateau_reached(&p, r, 4096, 4096, 5));
		assert_true(plateau_reached(&p, r, 0, 4096, 5)); /* it does not grow at all */
		assert_true(plateau_reached(&p, r, 17, 0, 5));
		/* No number of a hostile engine holds it for ever by overflowing. */
		assert_true(plateau_reached(&p, r, UINT64_MAX, UINT64_MAX, 0));
		assert_false(plateau_reached(&p, r, 1, UINT64_MAX, UINT64_MAX));
	}
}

/* The cap ends what always finds a little more, also while lim grows. */
static void test_cap(void **state)
{
	static const struct plateau_rules capped = {PLATEAU_CPU_SILENCE, 600 * S, 1800 * S};
	struct cell c = {.cpu = 0.5, .wait = 0.5};
	struct plateau p = {0};

	(void)state;
	begin(&p, &c);
	for (uint64_t i = 1; i <= 3599; i++) {
		run(&p, &c, 1);
		assert_true(plateau_coverage(&p, i, i));
		assert_false(plateau_reached(&p, &capped, 5, 4096, i));
	}
	run(&p, &c, 1);
	assert_true(plateau_coverage(&p, 9999, 1));
	assert_true(plateau_reached(&p, &capped, 5, 4096, 1));
	assert_false(done(&p, &cpu10)); /* 0: there is none */
	assert_false(done(&p, &(struct plateau_rules){PLATEAU_WALL, 600 * S, 1}));
}

static void test_none(void **state)
{
	struct cell c = {.cpu = 1};
	struct plateau p = {0};

	(void)state;
	begin(&p, &c);
	run(&p, &c, 100000);
	assert_false(done(&p, &(struct plateau_rules){PLATEAU_NONE, 1, 1}));
	assert_false(done(&p, &(struct plateau_rules){PLATEAU_, 1, 1}));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_quiet),   cmocka_unit_test(test_starved), cmocka_unit_test(test_restart),
    cmocka_unit_test(test_growing), cmocka_unit_test(test_cap),	    cmocka_unit_test(test_none),
};

UNIT_MAIN(tests)
