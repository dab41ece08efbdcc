/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/policy/strategy.h"

#define S UINT64_C(1000000)

static const struct strategy_terms an_hour = {
    .price = 0.05, .least_us = 10 * S, .build_us = 3200 * S, .cov = 500};
enum { TRIAL = 100 }; /* seconds: a 32nd */

static enum strategy_answer ask_at(struct strategies *s, uint64_t cov)
{
	struct strategy_terms t = an_hour;

	t.cov = cov;
	return strategies_ask(s, &t);
}

/* A trial of the present strategy that finds so many edges. */
static enum strategy_answer trial(struct strategies *s, uint64_t edges, uint64_t cov)
{
	strategies_spend(s, TRIAL * S);
	strategies_find(s, edges);
	return ask_at(s, cov);
}

static struct strategies with(unsigned may)
{
	struct strategies s = {.may = may};

	assert_int_equal(ask_at(&s, 500), may ? STRATEGY_NEXT : STRATEGY_NONE);
	strategies_launched(&s);
	return s;
}

static void each_gets_one_trial(void **state)
{
	struct strategies s = with(~0u);

	(void)state;
	for (enum strategy i = STRATEGY_PLAIN + 1; i < STRATEGIES; i++) {
		assert_int_equal(s.now, i);
		assert_int_equal(ask_at(&s, 500), STRATEGY_GO_ON); /* its trial has just begun */
		assert_int_equal(trial(&s, 0, 500),
				 i + 1 < STRATEGIES ? STRATEGY_NEXT : STRATEGY_NONE);
		strategies_launched(&s);
		assert_int_equal(s.arms[i].spent_us, TRIAL * S);
	}
	assert_int_equal(s.now, STRATEGY_PLAIN);
	/* A later turn of the same build ends at once. */
	assert_int_equal(trial(&s, 0, 500), STRATEGY_NONE);
	strategies_forget(&s);
	assert_int_equal(ask_at(&s, 500), STRATEGY_NEXT);
	assert_int_equal(s.next, STRATEGY_PLAIN + 1);
	assert_int_equal(s.may, ~0u);
}

static void only_those_that_may(void **state)
{
	struct strategies s = with(1u << STRATEGY_VALUES);

	(void)state;
	assert_int_equal(s.now, STRATEGY_VALUES);
	assert_int_equal(trial(&s, 0, 500), STRATEGY_NONE);
	s = (struct strategies){0};
	assert_int_equal(ask_at(&s, 500), STRATEGY_NONE);
}

static void it_goes_on_as_long_as_it_pays(void **state)
{
	struct strategies s = with(1u << STRATEGY_FEW | 1u << STRATEGY_EVEN);

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(trial(&s, 5, 505 + 5 * i), STRATEGY_GO_ON); /* 0.05 * 100 */
	assert_int_equal(s.now, STRATEGY_FEW);
	assert_true(s.arms[STRATEGY_FEW].paid);
	assert_int_equal(trial(&s, 4, 554), STRATEGY_NEXT);
	assert_int_equal(s.next, STRATEGY_EVEN);
}

/* What has paid is tried again when the others found enough since. */
static void what_paid_is_tried_again(void **state)
{
	struct strategies s = with(1u << STRATEGY_FEW | 1u << STRATEGY_EVEN);

	(void)state;
	assert_int_equal(trial(&s, 5, 505), STRATEGY_GO_ON);
	assert_int_equal(trial(&s, 0, 505), STRATEGY_NEXT);
	strategies_launched(&s);
	assert_int_equal(s.now, STRATEGY_EVEN);
	assert_int_equal(trial(&s, 20, 525), STRATEGY_GO_ON);
	assert_int_equal(trial(&s, 0, 525), STRATEGY_NEXT); /* 20 edges since: three are alive */
	strategies_launched(&s);
	assert_int_equal(s.now, STRATEGY_FEW); /* the highest rate */
	assert_int_equal(trial(&s, 0, 525), STRATEGY_NEXT);
	strategies_launched(&s);
	assert_int_equal(s.now, STRATEGY_PLAIN);
	assert_int_equal(ask_at(&s, 525), STRATEGY_GO_ON); /* on trial, as the others */
	assert_int_equal(trial(&s, 5, 525), STRATEGY_GO_ON);
	assert_int_equal(trial(&s, 0, 525), STRATEGY_NONE);
	/* A few edges are no reason. */
	assert_int_equal(trial(&s, 4, 539), STRATEGY_NONE);
}

/* Trials cannot go on for ever at less than the price. */
static void a_trickle_ends(void **state)
{
	struct strategies s = with(~0u);
	uint64_t cov = 500, n = 0;
	enum strategy_answer a;

	(void)state;
	do {
		uint64_t more = n % 2; /* an edge in 200 s */

		cov += more;
		a = trial(&s, more, cov);
		strategies_launched(&s);
	} while (a != STRATEGY_NONE && ++n < 1000);
	assert_in_range(n, STRATEGIES - 2, 4 * STRATEGIES);
}

/* A part of the corpus reaches less, so its finds show in the next cell. */
static void finds_that_show_later_count(void **state)
{
	struct strategies s = with(1u << STRATEGY_SUBSET | 1u << STRATEGY_WORDS);

	(void)state;
	assert_int_equal(s.now, STRATEGY_SUBSET);
	assert_false(strategies_seeded(&s, 0.05, 0));
	assert_int_equal(trial(&s, 0, 500), STRATEGY_NEXT);
	strategies_launched(&s);
	assert_int_equal(s.now, STRATEGY_WORDS);
	assert_int_equal(s.owed, STRATEGY_SUBSET);
	assert_true(strategies_seeded(&s, 0.05, 12));
	assert_int_equal(s.arms[STRATEGY_SUBSET].found, 12);
	assert_int_equal(s.arms[STRATEGY_WORDS].found, 0);
	assert_false(strategies_seeded(&s, 0.05, 3)); /* the next cell's are a user's */
	assert_int_equal(trial(&s, 0, 512), STRATEGY_NEXT);
	strategies_launched(&s);
	assert_int_equal(s.now, STRATEGY_SUBSET); /* it paid */
	assert_int_equal(trial(&s, 0, 512), STRATEGY_NEXT);
	assert_int_equal(s.next, STRATEGY_PLAIN);
	strategies_launched(&s);
	assert_true(strategies_seeded(&s, 0.05, 1)); /* too few */
	assert_int_equal(trial(&s, 0, 513), STRATEGY_NONE);
}

/* The last one reads less: the plain way shows what it found, and then it is tried again. */
static void finds_of_the_last_one_count(void **state)
{
	struct strategies s = with(1u << STRATEGY_SHORT);

	(void)state;
	assert_int_equal(trial(&s, 0, 500), STRATEGY_NEXT);
	assert_int_equal(strategies_owed(&s), STRATEGY_SHORT); /* also after the run's end */
	assert_int_equal(s.next, STRATEGY_PLAIN);
	strategies_launched(&s);
	assert_true(strategies_seeded(&s, 0.05, 9));
	assert_int_equal(trial(&s, 0, 509), STRATEGY_NEXT);
	strategies_launched(&s);
	assert_int_equal(s.now, STRATEGY_SHORT);
	assert_int_equal(s.arms[STRATEGY_SHORT].found, 9);
	assert_int_equal(trial(&s, 0, 509), STRATEGY_NEXT);
	strategies_launched(&s);
	assert_false(strategies_seeded(&s, 0.05, 0));
	assert_int_equal(trial(&s, 0, 509), STRATEGY_NONE);
}

/* Inputs of other targets that end its cells end the trial. */
static void failures_end_the_trial(void **state)
{
	struct strategies s = with(1u << STRATEGY_OTHERS | 1u << STRATEGY_FEW);

	(void)state;
	for (unsigned i = 1; i < STRATEGY_FAILURES; i++) {
		strategies_failed(&s, false, 500);
		strategies_launched(&s);
		assert_int_equal(s.now, STRATEGY_OTHERS);
	}
	strategies_failed(&s, false, 500);
	strategies_launched(&s);
	assert_int_equal(s.now, STRATEGY_PLAIN);
	assert_int_equal(ask_at(&s, 500), STRATEGY_NEXT);
	assert_int_equal(s.next, STRATEGY_FEW);
	s = with(1u << STRATEGY_OTHERS);
	strategies_failed(&s, true, 500);
	strategies_launched(&s);
	assert_int_equal(ask_at(&s, 500), STRATEGY_NONE);
}

static void inputs_of_others_count_at_once(void **state)
{
	struct strategies s = with(1u << STRATEGY_OTHERS);

	(void)state;
	assert_true(strategies_seeded(&s, 0.05, 7));
	assert_int_equal(s.arms[STRATEGY_OTHERS].found, 7);
	assert_false(strategies_seeded(&s, 0.05, 0));
	assert_int_equal(trial(&s, 0, 507), STRATEGY_GO_ON); /* 7 edges pay */
	assert_int_equal(trial(&s, 0, 507), STRATEGY_NONE);
}

static void names(void **state)
{
	(void)state;
	for (enum strategy i = 0; i < STRATEGIES; i++)
		for (enum strategy k = 0; k < i; k++)
			assert_string_not_equal(strategy_name(i), strategy_name(k));
	assert_string_equal(strategy_name(STRATEGIES), "unknown");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_gets_one_trial),
    cmocka_unit_test(only_those_that_may),
    cmocka_unit_test(it_goes_on_as_long_as_it_pays),
    cmocka_unit_test(what_paid_is_tried_again),
    cmocka_unit_test(a_trickle_ends),
    cmocka_unit_test(finds_that_show_later_count),
    cmocka_unit_test(finds_of_the_last_one_count),
    cmocka_unit_test(failures_end_the_trial),
    cmocka_unit_test(inputs_of_others_count_at_once),
    cmocka_unit_test(names),
};

UNIT_MAIN(tests)
