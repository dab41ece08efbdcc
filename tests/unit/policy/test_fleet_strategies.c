/* SPDX-License-Identifier: Apache-2.0 */
/* The targets of a fleet try strategies. */
#include "tests/unit/unit.h"

#include "tests/unit/policy/fleet.h"

enum { ALL = (1 << STRATEGIES) - 1, TRIED = STRATEGIES - 1 };

static void each_is_tried_before_it_leaves(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 1, nothing);
	m.v[0].strategies.may = ALL;
	run(&m, 9000);
	assert_int_equal(m.orders[FLEET_TRY], TRIED);
	assert_int_equal(m.left[0], FLEET_PLATEAU);
	/* 4990 s, and for each strategy a 32nd of what it had. */
	assert_in_range(m.left_at[0], 6100 * S, 6600 * S);
	for (enum strategy i = STRATEGY_PLAIN + 1; i < STRATEGIES; i++)
		assert_in_range(m.v[0].strategies.arms[i].spent_us, 155 * S, 205 * S);
}

/* What was tried on a build is not tried again in another run of it. */
static void known_ones_are_not_tried(void **state)
{
	struct fleet_target was;
	struct sim m;

	(void)state;
	begin(&m, 1, 1, nothing);
	m.v[0].strategies.may = ALL;
	run(&m, 9000);
	was = m.v[0];
	begin(&m, 1, 1, nothing);
	m.v[0].strategies.may = ALL;
	fleet_recall(&m.v[0], &was.curve, &was.health, &was.strategies, was.edges_total);
	run(&m, 1000);
	assert_int_equal(m.orders[FLEET_TRY], 0);
	assert_int_equal(m.left[0], FLEET_PLATEAU);
	assert_in_range(m.left_at[0], 60 * S, 62 * S);
	fleet_rebuilt(&m.v[0]);
	assert_int_equal(m.v[0].strategies.arms[STRATEGY_FEW].spent_us, 0);
	assert_int_equal(m.v[0].strategies.may, ALL);
}

static const struct strategies *tried;

/* Only one strategy finds: an edge a second. */
static uint64_t even_finds(double seconds)
{
	(void)seconds;
	return 10 + tried->arms[STRATEGY_EVEN].spent_us / S;
}

static void the_one_that_finds_goes_on(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 1, even_finds);
	m.v[0].strategies.may = ALL;
	tried = &m.v[0].strategies;
	run(&m, 9000);
	assert_int_equal(m.orders[FLEET_TRY], STRATEGY_EVEN); /* those before find nothing */
	assert_int_equal(m.v[0].strategies.now, STRATEGY_EVEN);
	assert_true(m.v[0].strategies.arms[STRATEGY_EVEN].found > 3000);
	assert_int_equal(m.v[0].strategies.arms[STRATEGY_FEW].found, 0);
	assert_int_equal(m.left[0], FLEET_NOTHING);
}

/* Others that pay go on while one tries its strategies, and the trials come to their end. */
static void they_share_with_others(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 2, grows);
	m.edges[0] = nothing;
	m.v[0].strategies.may = ALL;
	run(&m, 40000);
	assert_int_equal(m.orders[FLEET_TRY], TRIED);
	assert_int_equal(m.left[0], FLEET_PLATEAU);
	assert_true(m.v[1].spent_us > m.v[0].spent_us);
}

/* Continuous: a target on trial is no target that rests, though nothing is expected of it. */
static void it_rests_after_the_last(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 1, nothing);
	m.f.rules.continuous = m.f.rules.share.idle = true;
	m.f.rules.share.floor = 0;
	m.v[0].strategies.may = ALL;
	run(&m, 9000);
	assert_int_equal(m.orders[FLEET_TRY], TRIED);
	assert_int_equal(m.orders[FLEET_REST], 1);
	assert_int_equal(m.v[0].strategies.next, STRATEGY_PLAIN);
	assert_true(m.v[0].unpaying);
	assert_in_range(m.v[0].spent_us, 6100 * S, 6600 * S); /* it waited for none of them */
}

static void the_cap_comes_first(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 1, nothing);
	m.v[0].strategies.may = ALL;
	m.v[0].rule.cap_us = 5250 * S;
	run(&m, 9000);
	assert_int_equal(m.left[0], FLEET_CAP);
	assert_in_range(m.left_at[0], 5250 * S, 5252 * S);
	assert_int_equal(m.orders[FLEET_TRY], 2);
}

static void numbers_that_cannot_be_true_are_tried_no_way(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 1, nothing);
	m.v[0].strategies.may = ALL;
	run(&m, 100);
	fleet_forged(&m.v[0]);
	run(&m, 9000);
	assert_int_equal(m.orders[FLEET_TRY], 0);
	assert_int_equal(m.left[0], FLEET_PLATEAU);
}

static void another_rule_tries_them_too(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 1, nothing);
	m.v[0].rule.kind = RULE_CPU_SILENCE;
	m.v[0].strategies.may = ALL;
	run(&m, 9000);
	assert_int_equal(m.orders[FLEET_TRY], TRIED);
	assert_in_range(m.left_at[0], 720 * S, 850 * S); /* ten minutes, and the trials */
}

/* Reading inputs is no trial: a target that reads them for a whole turn gives that up. */
static void one_that_reads_for_too_long(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 1, nothing);
	m.v[0].strategies.may = 1u << STRATEGY_OTHERS;
	run(&m, 4900);
	m.load_us[0] = 100000 * S; /* of its next cell */
	run(&m, 2000);
	assert_int_equal(m.v[0].strategies.now, STRATEGY_PLAIN);
	assert_true(m.v[0].strategies.arms[STRATEGY_OTHERS].stood > 0);
	assert_int_equal(m.orders[FLEET_TRY], 2);
}

/* Edges that the seeds reach after a strategy that read less of them are its finds. */
static void finds_that_show_later(void **state)
{
	struct fleet_target t = {.rule = rule_preset(0.05, 1), .known = true};

	(void)state;
	curve_begin(&t.curve, 100);
	t.strategies.now = STRATEGY_SUBSET;
	t.strategies.next = STRATEGY_WORDS;
	fleet_launched(&t, S);
	fleet_seeded(&t, 130);
	assert_int_equal(t.strategies.arms[STRATEGY_SUBSET].found, 30);
	assert_int_equal(t.curve.cov, 130);
	assert_int_equal(t.curve.base, 100); /* found, not given */
	fleet_seeded(&t, 150);		     /* by a user */
	assert_int_equal(t.curve.cov, 150);
	assert_int_equal(t.curve.base, 120);
	assert_int_equal(t.strategies.arms[STRATEGY_SUBSET].found, 30);
	/* A hostile engine's claim is bounded like the curve: the saved progress stays valid. */
	t.strategies.now = STRATEGY_OTHERS;
	fleet_seeded(&t, UINT64_MAX);
	assert_int_equal(t.curve.cov, CURVE_EDGES_MAX);
	assert_int_equal(t.strategies.arms[STRATEGY_OTHERS].found, CURVE_EDGES_MAX - 150);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_is_tried_before_it_leaves),
    cmocka_unit_test(known_ones_are_not_tried),
    cmocka_unit_test(the_one_that_finds_goes_on),
    cmocka_unit_test(they_share_with_others),
    cmocka_unit_test(it_rests_after_the_last),
    cmocka_unit_test(the_cap_comes_first),
    cmocka_unit_test(numbers_that_cannot_be_true_are_tried_no_way),
    cmocka_unit_test(another_rule_tries_them_too),
    cmocka_unit_test(one_that_reads_for_too_long),
    cmocka_unit_test(finds_that_show_later),
};

UNIT_MAIN(tests)
