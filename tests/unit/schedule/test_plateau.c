/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/schedule/plateau.h"

#define S UINT64_C(1000000)

static const struct plateau_rules cpu10 = {PLATEAU_CPU_SILENCE, 600 * S, 0};
static const struct plateau_rules wall10 = {PLATEAU_WALL, 600 * S, 0};

/* A cell whose clock the test turns: shares of a second, each second. */
struct cell {
	struct plateau_reading r;
	double cpu, system, wait, memory;
};

static void begin(struct plateau *p, struct cell *c)
{
	c->r = (struct plateau_reading){.at_us = c->r.at_us};
	plateau_begin(p, c->r.at_us);
}

static void run(struct plateau *p, struct cell *c, unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++) {
		c->r.at_us += S;
		c->r.usage_us += (uint64_t)(c->cpu * S);
		c->r.system_us += (uint64_t)(c->system * S);
		c->r.cpu_stall_us += (uint64_t)(c->wait * S);
		c->r.memory_stall_us += (uint64_t)(c->memory * S);
		plateau_read(p, &c->r);
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
	assert_int_equal(p.effective_us, 900 * S);
	assert_int_equal(p.wall_us, 900 * S);
	assert_int_equal(p.gains, 2);
	assert_int_equal(p.state, PLATEAU_OK);
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
	assert_int_equal(p.state, PLATEAU_STARVED);
	assert_int_equal(p.effective_us, 100 * S);
	assert_int_equal(p.stalled_us, 900 * S);
	run(&p, &c, 4999);
	assert_false(done(&p, &cpu10));
	run(&p, &c, 1);
	assert_true(done(&p, &cpu10)); /* it got its ten minutes at last */
}

/* A quota of a quarter of a CPU is waiting for a CPU, too. */
static void test_throttled(void **state)
{
	struct cell c = {.cpu = 0.25, .wait = 0.75};
	struct plateau p = {0};

	(void)state;
	begin(&p, &c);
	run(&p, &c, 2399);
	assert_false(done(&p, &cpu10));
	assert_int_equal(p.state, PLATEAU_STARVED);
	run(&p, &c, 1);
	assert_true(done(&p, &cpu10));
}

/* Frozen or asleep: no usage, no pressure, no progress, and no starvation. */
static void test_frozen(void **state)
{
	struct cell c = {0};
	struct plateau p = {0};

	(void)state;
	begin(&p, &c);
	run(&p, &c, 100000);
	assert_false(done(&p, &cpu10));
	assert_true(done(&p, &wall10));
	assert_int_equal(p.effective_us, 0);
	assert_int_equal(p.state, PLATEAU_OK);
}

static void test_thrashing(void **state)
{
	static const struct {
		double cpu, system, memory;
		bool thrashes;
	} t[] = {
	    {0.5, 0.1, 0.11, true}, /* a tenth of the time stalled on memory */
	    {0.5, 0.1, 0.09, false},
	    {0.5, 0.3, 0.03, true}, /* less, but the kernel has most of the CPU time */
	    {0.5, 0.2, 0.03, false},
	    {0.5, 0.4, 0.01, false}, /* a system-heavy target */
	    {0, 0, 0.05, false},
	    {0, 0, 1, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct cell c = {.cpu = t[i].cpu, .system = t[i].system, .memory = t[i].memory};
		struct plateau p = {0};

		begin(&p, &c);
		run(&p, &c, 2000);
		assert_int_equal(p.state, t[i].thrashes ? PLATEAU_THRASHING : PLATEAU_OK);
		assert_int_equal(p.effective_us,
				 t[i].thrashes ? 0 : (uint64_t)(2000 * t[i].cpu * S));
		assert_int_equal(done(&p, &cpu10), !t[i].thrashes && t[i].cpu > 0);
		c.memory = 0; /* it is over */
		c.cpu = 1;
		c.system = 0;
		run(&p, &c, 1);
		assert_int_equal(p.state, PLATEAU_OK);
		run(&p, &c, 600);
		assert_true(done(&p, &cpu10));
	}
}

/* Under three quarters of the CPU, over a minute: a short wait is no starvation. */
static void test_starved_state(void **state)
{
	struct cell c = {.cpu = 1};
	struct plateau p = {0};

	(void)state;
	begin(&p, &c);
	run(&p, &c, 60);
	c.cpu = 0.1;
	c.wait = 0.9;
	run(&p, &c, 10);
	assert_int_equal(p.state, PLATEAU_OK);
	run(&p, &c, 30);
	assert_int_equal(p.state, PLATEAU_STARVED);
	c.cpu = 1;
	c.wait = 0;
	run(&p, &c, 10);
	assert_int_equal(p.state, PLATEAU_STARVED);
	run(&p, &c, 120);
	assert_int_equal(p.state, PLATEAU_OK);
	c.cpu = 0.8;
	c.wait = 0.2;
	run(&p, &c, 1000);
	assert_int_equal(p.state, PLATEAU_OK);
	assert_in_range((uint64_t)(p.starved * 1000), 190, 210);
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
	assert_int_equal(p.effective_us, 600 * S);
	assert_int_equal(p.wall_us, 600 * S);
	assert_int_equal(p.gains, 1);
	assert_int_equal(p.cov, 500);
	assert_true(done(&p, &cpu10));
	assert_true(plateau_coverage(&p, 501, 0));
	assert_false(done(&p, &cpu10));
}

/* Nothing is read before the first cell began, nor twice at one time. */
static void test_odd_times(void **state)
{
	struct plateau_reading r = {.at_us = 5 * S, .usage_us = 4 * S};
	struct plateau p = {0};

	(void)state;
	plateau_read(&p, &r);
	assert_int_equal(p.effective_us + p.wall_us, 0);
	plateau_begin(&p, 5 * S);
	plateau_read(&p, &r);
	assert_int_equal(p.effective_us + p.wall_us, 0);
	r.at_us = 4 * S;
	plateau_read(&p, &r);
	assert_int_equal(p.effective_us + p.wall_us, 0);
	r.at_us = 9 * S;
	plateau_read(&p, &r);
	assert_int_equal(p.effective_us, 4 * S);
	assert_int_equal(p.wall_us, 4 * S);
}

/* A reading that was cut (zeros) is no progress, and what comes after it is not
 * counted a second time. */
static void test_backwards(void **state)
{
	struct plateau_reading cut;
	struct cell c = {.cpu = 0.5, .wait = 0.5};
	struct plateau p = {0};

	(void)state;
	begin(&p, &c);
	run(&p, &c, 100);
	assert_int_equal(p.effective_us, 50 * S);
	cut = (struct plateau_reading){.at_us = c.r.at_us + S / 2};
	plateau_read(&p, &cut);
	assert_int_equal(p.effective_us, 50 * S);
	run(&p, &c, 1);
	assert_int_equal(p.effective_us, 50 * S + S / 2);
	assert_int_equal(p.stalled_us, 50 * S + S / 2);
	assert_int_equal(p.wall_us, 101 * S);
	assert_int_equal(p.state, PLATEAU_STARVED);
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

static uint64_t rnd(uint64_t *s) /* xorshift64: the same numbers in each run */
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* Any readings: the clock never runs ahead of the CPU time and never back. */
static void test_random(void **state)
{
	uint64_t seed = 20240229, used = 0, high = 0, before = 0;
	struct plateau p = {0};
	struct plateau_reading r = {.at_us = 1};

	(void)state;
	plateau_begin(&p, r.at_us);
	for (unsigned i = 0; i < 10000; i++) {
		uint64_t odd = rnd(&seed) % 50;

		if (odd == 0) { /* a new cell */
			used += high;
			high = 0;
			r = (struct plateau_reading){.at_us = r.at_us + rnd(&seed) % S};
			plateau_begin(&p, r.at_us);
		}
		r.at_us += rnd(&seed) % (3 * S);
		r.usage_us += rnd(&seed) % (3 * S);
		r.system_us += rnd(&seed) % S;
		r.cpu_stall_us += rnd(&seed) % S;
		r.memory_stall_us += rnd(&seed) % (S / 4);
		if (odd == 1)
			r.usage_us /= 2;
		if (odd == 2)
			r.at_us -= r.at_us / 16;
		if (odd == 3)
			r.memory_stall_us = 0;
		high = r.usage_us > high ? r.usage_us : high;
		plateau_read(&p, &r);
		assert_true(p.effective_us <= used + high);
		assert_true(p.effective_us >= before);
		assert_true(p.starved >= 0 && p.starved <= 1);
		assert_true(p.gain_effective_us <= p.effective_us);
		assert_true(p.gain_wall_us <= p.wall_us);
		before = p.effective_us;
		if (odd == 4)
			(void)plateau_coverage(&p, rnd(&seed) % 1000, rnd(&seed) % 1000);
	}
	assert_true(p.effective_us > used / 8); /* and it runs */
	assert_true(p.gains > 1);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(plateau_state_name(PLATEAU_OK), "ok");
	assert_string_equal(plateau_state_name(PLATEAU_STARVED), "starved");
	assert_string_equal(plateau_state_name(PLATEAU_THRASHING), "thrashing");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_quiet),     cmocka_unit_test(test_starved),
    cmocka_unit_test(test_throttled), cmocka_unit_test(test_frozen),
    cmocka_unit_test(test_thrashing), cmocka_unit_test(test_starved_state),
    cmocka_unit_test(test_restart),   cmocka_unit_test(test_odd_times),
    cmocka_unit_test(test_backwards), cmocka_unit_test(test_growing),
    cmocka_unit_test(test_cap),	      cmocka_unit_test(test_none),
    cmocka_unit_test(test_random),    cmocka_unit_test(test_names),
};

UNIT_MAIN(tests)
