/* SPDX-License-Identifier: Apache-2.0 */
/* The effect of a target's false claims, before and after their detection. */
#include "tests/unit/unit.h"

#include "tests/unit/policy/fleet.h"

/* Claims more than any other target, and more each time. */
static uint64_t boasts(double seconds)
{
	return 10 + (uint64_t)(1000 * seconds);
}

/* The first target makes false claims, the others grow normally; all fuzz for this time. */
static void fleet(struct sim *m, unsigned workers, unsigned seconds)
{
	begin(m, workers, 5, grows);
	m->edges[0] = boasts;
	run(m, seconds);
}

static uint64_t all(const struct sim *m)
{
	uint64_t us = 0;

	for (size_t i = 0; i < m->f.n; i++)
		us += m->v[i].spent_us;
	return us;
}

/* Claims within the bounds look true, but win at most every second turn. */
static void claims_buy_no_more_than_half_of_a_worker(void **state)
{
	struct sim m;

	(void)state;
	fleet(&m, 1, 40000);
	assert_in_range(m.v[0].spent_us * 100 / all(&m), 25, 55);
	fleet(&m, 2, 20000);
	assert_in_range(m.v[0].spent_us * 100 / all(&m), 12, 32); /* 50: all of a worker */
}

static void a_higher_priority_is_not_held_back(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 2, grows);
	m.edges[0] = boasts;
	m.v[0].priority = 10;
	run(&m, 50000);
	assert_true(m.v[0].spent_us > all(&m) / 10 * 9);
}

/* The floor is one of twenty choices, and five targets share it. */
static void a_forger_gets_the_floor(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 5, grows);
	m.edges[0] = boasts;
	run(&m, 1); /* its first turn */
	assert_int_equal(m.does[0], FLEET_RUNS);
	fleet_forged(&m.v[0]);
	run(&m, 1);
	assert_int_equal(m.does[0], FLEET_WAITS); /* at once, not at the end of its turn */
	run(&m, 20000);
	assert_true(m.v[0].spent_us < all(&m) / 20);
	assert_int_equal(m.v[0].curve.cov, 0);
}

static void a_forger_alone_runs_and_ends(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 1, boasts);
	run(&m, 100);
	fleet_forged(&m.v[0]);
	run(&m, 800);
	assert_int_equal(m.does[0], FLEET_RUNS);
	run(&m, 200);
	assert_int_equal(m.left[0], FLEET_PLATEAU); /* 50 edges / 0.05: the smallest gate */
}

/* When there are fewer workers it is the first to be paused. */
static void a_forger_is_paused_first(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 2, 2, nothing);
	run(&m, 600);
	m.edges[0] = boasts;
	run(&m, 10);
	m.v[0].forges = true;
	m.workers = 1;
	run(&m, 1);
	assert_int_equal(m.does[0], FLEET_WAITS);
	assert_int_equal(m.does[1], FLEET_RUNS);
}

static void another_build_is_believed(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 2, grows);
	run(&m, 1);
	fleet_forged(&m.v[0]);
	fleet_rebuilt(&m.v[0]);
	fleet_wake(&m.f, &m.v[0]);
	run(&m, 3000);
	assert_true(m.v[0].spent_us > all(&m) / 4);
	assert_true(m.v[0].curve.cov > 1000);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(claims_buy_no_more_than_half_of_a_worker),
    cmocka_unit_test(a_higher_priority_is_not_held_back),
    cmocka_unit_test(a_forger_gets_the_floor),
    cmocka_unit_test(a_forger_alone_runs_and_ends),
    cmocka_unit_test(a_forger_is_paused_first),
    cmocka_unit_test(another_build_is_believed),
};

UNIT_MAIN(tests)
