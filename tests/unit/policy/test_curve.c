/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/policy/curve.h"

#include <math.h>
#include <stdlib.h>

#define S      UINT64_C(1000000)
#define WINDOW (300 * S)

static bool near(double a, double b, double part)
{
	return fabs(a - b) <= part * fabs(b);
}

/* Each edge has its own rate, from ten per second to one per year, with equally many edges in each
 * decade.  So each e-fold of time has the same number of finds, at any age. */
static uint64_t log_uniform(double age)
{
	double sum = 0;

	for (int i = 0; i < 4000; i++)
		sum += -expm1(-age * pow(10, 1 - 8.0 * i / 4000));
	return (uint64_t)(sum + 0.5);
}

static void grow(struct curve *c, unsigned from, unsigned to, uint64_t (*edges)(double age))
{
	for (unsigned s = from; s < to; s++) {
		(void)curve_show(c, edges((double)s + 1));
		curve_spend(c, S, WINDOW);
		c->runs += 1000;
	}
}

static void singletons_are_what_an_e_fold_finds(void **state)
{
	double once = 0, age = 2000;
	struct curve c;

	(void)state;
	curve_begin(&c, 0);
	grow(&c, 0, (unsigned)age, log_uniform);
	for (int i = 0; i < 4000; i++) { /* expected number that was hit exactly once */
		double n = age * pow(10, 1 - 8.0 * i / 4000);

		once += n * exp(-n);
	}
	assert_true(near(curve_f1(&c), once, 0.05));
	assert_true(near(curve_discovery(&c), once / (1000 * age), 0.05));
	assert_true(near(curve_forecast(&c, age), (double)(log_uniform(2 * age) - c.cov), 0.05));
	assert_int_equal(c.age_us, c.build_us); /* steady growth is no burst */
	assert_true(curve_sane(&c));
}

static void silence_is_forgotten_in_an_e_fold(void **state)
{
	struct curve c;

	(void)state;
	curve_begin(&c, 100);
	curve_spend(&c, 10 * S, WINDOW);
	assert_true(curve_show(&c, 150));
	assert_int_equal(c.gain_us, 10 * S);
	curve_spend(&c, 10 * S, WINDOW);
	assert_true(curve_f1(&c) > 45);
	curve_spend(&c, 10 * S, WINDOW);
	curve_spend(&c, 10 * S, WINDOW);
	assert_true(curve_f1(&c) < 5);
	for (int i = 0; i < 30; i++)
		curve_spend(&c, 10 * S, WINDOW);
	assert_true(curve_f1(&c) == 0);
	assert_true(curve_forecast(&c, 1e9) == 0);
	c.runs = 5;
	assert_true(curve_discovery(&c) == 0);
}

static void what_a_restart_finds_again_is_nothing(void **state)
{
	struct curve c;

	(void)state;
	curve_begin(&c, 500);
	curve_spend(&c, 100 * S, WINDOW);
	for (uint64_t i = 1; i <= 500; i++)
		assert_false(curve_show(&c, i));
	assert_true(curve_f1(&c) == 0);
	assert_int_equal(c.gain_us, 0);
	assert_true(curve_show(&c, 501));
}

/* Inputs from outside are not the target's own finds. */
static void brought_inputs_move_the_curve(void **state)
{
	struct curve c, was;

	(void)state;
	curve_begin(&c, 10);
	grow(&c, 0, 1000, log_uniform);
	was = c;
	curve_raise(&c, c.cov + 5000);
	assert_int_equal(c.cov, was.cov + 5000);
	assert_true(near(curve_f1(&c), curve_f1(&was), 1e-9));
	assert_true(curve_sane(&c));
	curve_spend(&c, WINDOW, WINDOW);
	assert_int_equal(c.age_us, c.build_us); /* this is no burst either */
	was = c;
	curve_raise(&c, 7);
	assert_memory_equal(&c, &was, sizeof(c));
}

static void inputs_are_counted_up_to_a_bound(void **state)
{
	struct curve c;

	(void)state;
	curve_begin(&c, 10);
	curve_count(&c, 5);
	curve_count(&c, 7);
	assert_int_equal(c.runs, 12);
	for (int i = 0; i < 3; i++)
		curve_count(&c, UINT64_MAX);
	assert_int_equal(c.runs, CURVE_RUNS_MAX);
}

static void of_a_new_one_nothing_is_known(void **state)
{
	struct curve c;

	(void)state;
	curve_begin(&c, 7);
	assert_true(curve_f1(&c) == 0);
	assert_true(curve_discovery(&c) == 1);
	assert_true(curve_forecast(&c, 1) == 0);
	assert_true(curve_sane(&c));
}

/* A gate opens after hours: from then on the curve counts as young. */
static void a_burst_begins_anew(void **state)
{
	struct curve c;

	(void)state;
	curve_begin(&c, 50);
	for (unsigned i = 0; i < 10000; i++)
		curve_spend(&c, S, WINDOW);
	assert_int_equal(c.age_us, 10000 * S);
	for (unsigned i = 1; i <= 400; i++) {
		(void)curve_show(&c, 50 + 3 * i);
		curve_spend(&c, S, WINDOW);
	}
	assert_true(c.age_us <= 2 * WINDOW);
	assert_int_equal(c.build_us, 10400 * S);
	assert_true(c.base < c.cov);
	assert_true(curve_f1(&c) / ((double)c.age_us / 1e6) > 1); /* edges per second */
	assert_true(curve_sane(&c));
}

/* The first minutes are no burst, nor is a trickle. */
static void a_trickle_is_no_burst(void **state)
{
	struct curve c;

	(void)state;
	curve_begin(&c, 50);
	for (unsigned i = 1; i <= 20000; i++) {
		if (i % 100 == 0)
			(void)curve_show(&c, 50 + i / 100);
		curve_spend(&c, S, WINDOW);
	}
	assert_int_equal(c.age_us, c.build_us);
}

static void long_steps_fill_all_points(void **state)
{
	struct curve c;

	(void)state;
	curve_begin(&c, 5);
	curve_spend(&c, 3600 * S, WINDOW);
	assert_int_equal(c.n, 48); /* 2^(47/4) s is under an hour, 2^(48/4) s over it */
	assert_true(curve_show(&c, 9));
	curve_spend(&c, UINT64_C(1000000000) * S, WINDOW); /* thirty years */
	assert_int_equal(c.n, CURVE_POINTS);
	assert_true(curve_sane(&c));
	assert_true(curve_f1(&c) >= 0);
}

static void what_cannot_be_is_seen(void **state)
{
	struct curve good, c;

	(void)state;
	curve_begin(&good, 5);
	for (unsigned i = 0; i < 1000; i++) {
		(void)curve_show(&good, 5 + i);
		curve_spend(&good, S, WINDOW);
	}
	assert_true(curve_sane(&good));
#define BROKEN(change)                        \
	do {                                  \
		c = good;                     \
		change;                       \
		assert_false(curve_sane(&c)); \
	} while (0)
	BROKEN(c.n = CURVE_POINTS + 1);
	BROKEN(c.n = CURVE_POINTS);
	BROKEN(c.points[3] = (uint32_t)c.cov + 1);
	BROKEN(c.cov = CURVE_EDGES_MAX + 1);
	BROKEN(c.points[3] = c.points[2] - 1);
	BROKEN(c.points[0] = 0);
	BROKEN(c.build_us = c.age_us - 1);
	BROKEN(c.window_us = c.age_us + 1);
	BROKEN(c.window_cov = c.cov + 1);
	BROKEN(c.window_cov = 0);
	BROKEN(c.window_f1 = (double)NAN);
	BROKEN(c.window_f1 = -1);
	BROKEN(c.gain_us = c.build_us + 1);
#undef BROKEN
}

static uint64_t any_number(void)
{
	static const uint64_t edge[] = {0, 1, 30 * S, UINT64_C(1) << 32, UINT64_C(1) << 53};

	switch (rand() % 3) {
	case 0:
		return edge[rand() % 5];
	case 1:
		return (uint64_t)rand() % 1000;
	default:
		return (uint64_t)rand() << (rand() % 22);
	}
}

/* A curve as a hostile file could hold it, within the bounds that the reader checks. */
static struct curve any_curve(void)
{
	struct curve c = {.build_us = any_number(), .cov = any_number(), .runs = any_number()};
	uint64_t least;

	c.cov %= CURVE_EDGES_MAX + 1;
	c.age_us = any_number() % (c.build_us + 1);
	c.gain_us = any_number() % (c.build_us + 1);
	c.base = any_number() % (c.cov + 1);
	c.window_us = any_number() % (c.age_us + 1);
	c.window_cov = c.base + any_number() % (c.cov - c.base + 1);
	c.window_f1 = (double)(any_number() % (c.cov + 1));
	c.n = (uint32_t)rand() % (CURVE_POINTS + 1);
	least = c.base;
	for (unsigned i = 0; i < c.n; i++)
		c.points[i] = (uint32_t)(least += any_number() % (c.cov - least + 1));
	return c;
}

/* A curve that passes the check can be continued, and stays valid. */
static void any_sane_one_goes_on(void **state)
{
	unsigned n = 0;

	(void)state;
	srand(1);
	for (unsigned round = 0; round < 100000; round++) {
		struct curve c = any_curve();

		if (!curve_sane(&c))
			continue;
		n++;
		for (unsigned i = 0; i < 4; i++) {
			double f1 = curve_f1(&c), next = curve_forecast(&c, 3600);

			assert_true(f1 >= 0 && f1 <= (double)c.cov);
			assert_true(next >= 0 && isfinite(next));
			assert_true(curve_discovery(&c) >= 0 && curve_discovery(&c) <= 1);
			(void)curve_show(&c, any_number());
			curve_raise(&c, any_number());
			curve_spend(&c, any_number() % (1000 * S), WINDOW);
			assert_true(curve_sane(&c));
		}
	}
	assert_true(n > 1000);
}

static void a_void_one_found_nothing_in_all_its_time(void **state)
{
	struct curve c;

	(void)state;
	curve_begin(&c, 5);
	for (unsigned i = 0; i < 1000; i++) {
		(void)curve_show(&c, i * i);
		curve_spend(&c, 1000000, 300000000);
	}
	curve_void(&c);
	assert_true(curve_sane(&c));
	assert_int_equal(c.build_us, 1000 * UINT64_C(1000000));
	assert_int_equal(c.cov, 0);
	assert_true(curve_f1(&c) == 0 && curve_forecast(&c, 3600) == 0);
	for (unsigned i = 0; i < 1000; i++)
		curve_spend(&c, 1000000, 300000000);
	assert_true(curve_sane(&c));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(singletons_are_what_an_e_fold_finds),
    cmocka_unit_test(silence_is_forgotten_in_an_e_fold),
    cmocka_unit_test(what_a_restart_finds_again_is_nothing),
    cmocka_unit_test(brought_inputs_move_the_curve),
    cmocka_unit_test(inputs_are_counted_up_to_a_bound),
    cmocka_unit_test(of_a_new_one_nothing_is_known),
    cmocka_unit_test(a_burst_begins_anew),
    cmocka_unit_test(a_trickle_is_no_burst),
    cmocka_unit_test(long_steps_fill_all_points),
    cmocka_unit_test(what_cannot_be_is_seen),
    cmocka_unit_test(any_sane_one_goes_on),
    cmocka_unit_test(a_void_one_found_nothing_in_all_its_time),
};

UNIT_MAIN(tests)
