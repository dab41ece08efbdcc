/* SPDX-License-Identifier: Apache-2.0 */
/* News about targets, and their effect on the fleet. */
#include "tests/unit/unit.h"

#include "runner/policy/fleet.h"

#define S UINT64_C(1000000)

static void sleep_does_not_count_as_waiting(void **state)
{
	struct fleet_target v[2] = {{.held_us = 5, .turn_began_us = 3}, {.turn_began_us = 9}};
	struct fleet f = {.v = v, .n = 2};

	(void)state;
	fleet_slept(&f, 100);
	assert_int_equal(v[0].held_us, 105);
	assert_int_equal(v[0].turn_began_us, 103);
	assert_int_equal(v[1].held_us, 0); /* the target is not held */
	assert_int_equal(f.idle_until_us, 0);
	f.idle_until_us = 7;
	fleet_slept(&f, 100);
	assert_int_equal(f.idle_until_us, 107);
}

static void statistics_are_counted_once(void **state)
{
	struct fleet_news n = {.cov = 100, .runs = 1000};
	struct fleet_target t = {0};

	(void)state;
	fleet_launched(&t, S);
	assert_false(fleet_take_stats(&t, &n)); /* it still reads its seeds */
	assert_false(t.known);
	n.fuzzes = true;
	assert_false(fleet_take_stats(&t, &n)); /* coverage of the seeds is no find */
	n.runs = 1500;
	n.cov = 101;
	assert_true(fleet_take_stats(&t, &n));
	assert_false(fleet_take_stats(&t, &n));
	assert_int_equal(t.curve.runs, 1500);
	fleet_launched(&t, 5 * S);
	n.runs = 300;
	n.cov = 99;
	assert_false(fleet_take_stats(&t, &n));
	n.runs = 200; /* a number of a hostile engine */
	assert_false(fleet_take_stats(&t, &n));
	assert_int_equal(t.curve.runs, 1800);
	assert_int_equal(t.curve.cov, 101);
	n.runs = 300;
	assert_false(fleet_take_stats(&t, &n));
	assert_int_equal(t.curve.runs, 1800);
	for (unsigned i = 0; i < 3; i++) { /* no state file would have room for it */
		fleet_launched(&t, 6 * S);
		n.runs = UINT64_MAX;
		assert_false(fleet_take_stats(&t, &n));
		assert_int_equal(t.curve.runs, CURVE_RUNS_MAX);
	}
}

/* The fleet only uses the latest news of the target. */
static void the_rule_sees_the_statistics(void **state)
{
	struct fleet_news n = {
	    .fuzzes = true, .cov = 100, .runs = 10, .edges_total = 700, .lim = 17, .max_len = 4096};
	struct fleet_target t = {.rule = rule_preset(0.05, 1), .spent_us = 9, .cap_from_us = 2};
	struct rule_view v;

	(void)state;
	fleet_launched(&t, S);
	(void)fleet_take_stats(&t, &n);
	n.lim = 18;
	(void)fleet_take_stats(&t, &n);
	v = fleet_view(&t);
	assert_ptr_equal(v.curve, &t.curve);
	assert_ptr_equal(v.clock, &t.clock);
	assert_int_equal(v.edges_total, 700);
	assert_int_equal(v.lim, 18);
	assert_int_equal(v.max_len, 4096);
	assert_int_equal(v.spent_us, 7);
	fleet_launched(&t, 2 * S); /* another cell: its numbers start anew */
	n.lim = 0;
	(void)fleet_take_stats(&t, &n);
	assert_int_equal(fleet_view(&t).lim, 0);
}

/* Inputs came from outside, or a kill came before the progress was saved. */
static void what_seeds_reach_is_no_find(void **state)
{
	struct fleet_news n = {.fuzzes = true, .cov = 100, .runs = 10};
	struct fleet_target t = {.rule = rule_preset(0.05, 1)};

	(void)state;
	fleet_launched(&t, S);
	fleet_seeded(&t, 100);
	assert_false(fleet_take_stats(&t, &n));
	curve_spend(&t.curve, 1000 * S, 300 * S);
	fleet_launched(&t, 2000 * S);
	n.cov = 900;
	fleet_seeded(&t, n.cov);
	assert_false(fleet_take_stats(&t, &n));
	assert_int_equal(t.curve.cov, 900);
	assert_true(curve_f1(&t.curve) == 0);
	assert_int_equal(t.curve.gain_us, 0);
	n.cov = 901;
	assert_true(fleet_take_stats(&t, &n));
	assert_true(curve_f1(&t.curve) > 0);
	fleet_launched(&t, 3000 * S);
	fleet_seeded(&t, 700); /* a smaller number changes nothing */
	assert_int_equal(t.curve.cov, 901);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sleep_does_not_count_as_waiting),
    cmocka_unit_test(statistics_are_counted_once),
    cmocka_unit_test(what_seeds_reach_is_no_find),
    cmocka_unit_test(the_rule_sees_the_statistics),
};

UNIT_MAIN(tests)
