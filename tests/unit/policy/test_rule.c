/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/policy/rule.h"

#include <math.h>

#define S UINT64_C(1000000)

/* A target that always has its own CPU. */
struct alone {
	struct curve curve;
	struct effective clock;
	struct rule_view v;
};

static struct rule_view *begin(struct alone *a, uint64_t edges)
{
	memset(a, 0, sizeof(*a));
	curve_begin(&a->curve, edges);
	a->clock.calm_us = EFFECTIVE_WINDOW_US;
	a->v = (struct rule_view){.curve = &a->curve, .clock = &a->clock};
	return &a->v;
}

static void spend(struct alone *a, uint64_t seconds)
{
	for (uint64_t i = 0; i < seconds; i++)
		curve_spend(&a->curve, S, 300 * S);
	a->v.spent_us += seconds * S;
	a->v.silent_wall_us += seconds * S;
}

/* The first time of this answer, in seconds of effective time. */
static uint64_t stops_at(const struct rule *r, struct alone *a, uint64_t most)
{
	for (uint64_t s = 0; s < most; s++) {
		if (rule_ask(r, &a->v) == RULE_STOP)
			return s;
		spend(a, 1);
	}
	return most;
}

/* B / price, as in docs/scheduling.md. */
static void a_silent_target_stops_at_its_price(void **state)
{
	struct rule r = rule_preset(0.05, 1), tenth = rule_preset(0.05, 0.1);
	struct alone a;

	(void)state;
	begin(&a, 100);
	assert_in_range(stops_at(&r, &a, 2000), 1000, 1001);
	begin(&a, 100)->edges_total = 10100; /* as many edges may be behind the gate */
	assert_in_range(stops_at(&r, &a, 20000), 10000, 10001);
	begin(&a, 100)->edges_total = 121; /* no more than are left */
	assert_in_range(stops_at(&r, &a, 2000), 420, 421);
	begin(&a, 100)->edges_total = 100; /* none: after the least time */
	assert_in_range(stops_at(&r, &a, 2000), 120, 121);
	begin(&a, 100);
	assert_in_range(stops_at(&tenth, &a, 2000), 100, 101);
	r.price = 1000; /* but not before the least time */
	begin(&a, 100);
	assert_in_range(stops_at(&r, &a, 2000), 120, 121);
}

static void a_lively_one_goes_on(void **state)
{
	struct rule r = rule_preset(0.05, 1);
	struct alone a;

	(void)state;
	begin(&a, 0);
	for (unsigned s = 1; s <= 5000; s++) { /* 200 per e-fold: 0.05 per second at 4000 s */
		(void)curve_show(&a.curve, (uint64_t)(200 * log1p(s)));
		spend(&a, 1);
		if (s < 3900)
			assert_int_equal(rule_ask(&r, &a.v), RULE_GO_ON);
	}
	assert_true(fabs(rule_rate(&r, &a.curve, 0) - (200 + 50) / 5000.0) < 0.003);
	assert_int_equal(rule_ask(&r, &a.v), RULE_GO_ON); /* the gate's share */
	spend(&a, 500);
	assert_int_equal(rule_ask(&r, &a.v), RULE_STOP);
}

static void silence_is_cpu_time_or_wall_time(void **state)
{
	struct rule cpu = {.kind = RULE_CPU_SILENCE, .window_us = 600 * S, .burst_us = 300 * S};
	struct rule wall = cpu, never = cpu;
	struct alone a;

	(void)state;
	wall.kind = RULE_WALL;
	never.kind = RULE_NONE;
	begin(&a, 0);
	spend(&a, 100);
	assert_true(curve_show(&a.curve, 1));
	a.v.silent_wall_us = 0;
	spend(&a, 599);
	a.v.silent_wall_us = 599 * S;
	assert_int_equal(rule_ask(&cpu, &a.v), RULE_GO_ON);
	assert_int_equal(rule_ask(&wall, &a.v), RULE_GO_ON);
	a.v.silent_wall_us = 600 * S; /* it was starved */
	assert_int_equal(rule_ask(&cpu, &a.v), RULE_GO_ON);
	assert_int_equal(rule_ask(&wall, &a.v), RULE_STOP);
	spend(&a, 1);
	assert_int_equal(rule_ask(&cpu, &a.v), RULE_STOP);
	assert_int_equal(rule_ask(&never, &a.v), RULE_GO_ON);
}

static void trouble_holds_all_but_the_wall_rule(void **state)
{
	static const enum rule_kind kinds[] = {RULE_PRICE, RULE_CPU_SILENCE, RULE_WALL};
	static const enum rule_answer then[] = {RULE_HOLD, RULE_HOLD, RULE_STOP};
	struct alone a;

	(void)state;
	begin(&a, 0);
	spend(&a, 5000);
	for (size_t i = 0; i < 3; i++) {
		struct rule r = rule_preset(0.05, 1);

		r.kind = kinds[i];
		a.clock.calm_us = EFFECTIVE_WINDOW_US - 1;
		assert_int_equal(rule_ask(&r, &a.v), then[i]);
		a.clock.calm_us++;
		assert_int_equal(rule_ask(&r, &a.v), RULE_STOP);
	}
}

static void inputs_that_grow_are_waited_for(void **state)
{
	struct rule r = rule_preset(0.05, 1);
	struct alone a;
	static const struct {
		uint64_t lim, max_len, runs;
		enum rule_answer then;
	} t[] = {
	    {17, 4096, 1000, RULE_GO_ON},
	    {4095, 4096, 409599, RULE_GO_ON},
	    {17, 4096, 409600, RULE_STOP}, /* 100 runs per byte */
	    {4096, 4096, 5, RULE_STOP},
	    {0, 4096, 5, RULE_GO_ON}, /* not printed yet: a slow target prints it seldom */
	    {0, 4096, 409600, RULE_STOP},
	    {17, 0, 5, RULE_STOP},
	    /* no number of a hostile engine holds the target for ever by an overflow */
	    {UINT64_MAX, UINT64_MAX, 0, RULE_STOP},
	    {1, UINT64_MAX, UINT64_MAX, RULE_GO_ON},
	};

	(void)state;
	begin(&a, 0);
	spend(&a, 5000);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		a.v.lim = t[i].lim;
		a.v.max_len = t[i].max_len;
		a.curve.runs = t[i].runs;
		for (int kind = RULE_PRICE; kind < RULE_NONE; kind++) {
			r.kind = (enum rule_kind)kind;
			assert_int_equal(rule_ask(&r, &a.v), t[i].then);
		}
	}
}

/* The cap holds for any finds, starved or not, and for any plans of the engine. */
static void the_cap_ends_it(void **state)
{
	struct alone a;

	(void)state;
	begin(&a, 0);
	a.v.lim = 1;
	a.v.max_len = 1000000000;
	for (int kind = RULE_PRICE; kind <= RULE_NONE; kind++) {
		struct rule r = rule_preset(0.05, 1);

		r.kind = (enum rule_kind)kind;
		r.cap_us = 1800 * S;
		a.clock.calm_us = 0;
		a.v.spent_us = 1800 * S - 1;
		assert_int_equal(rule_ask(&r, &a.v), RULE_GO_ON);
		a.v.spent_us++;
		assert_int_equal(rule_ask(&r, &a.v), RULE_CAP);
		r.cap_us = 0;
		assert_int_equal(rule_ask(&r, &a.v), RULE_GO_ON);
	}
}

static void a_user_sees_why(void **state)
{
	struct rule r = rule_preset(0.05, 1);
	char text[RULE_TEXT_MAX];
	struct alone a;

	(void)state;
	begin(&a, 0);
	spend(&a, 2000);
	rule_text(&r, &a.v, RULE_STOP, text);
	assert_string_equal(text, "0.025 new edges expected a CPU-second, the price is 0.05");
	r.kind = RULE_CPU_SILENCE;
	rule_text(&r, &a.v, RULE_STOP, text);
	assert_string_equal(text, "no new edge for 600 s of CPU time");
	r.kind = RULE_WALL;
	rule_text(&r, &a.v, RULE_STOP, text);
	assert_string_equal(text, "no new edge for 600 s of wall time");
	r.cap_us = 7200 * S;
	rule_text(&r, &a.v, RULE_CAP, text);
	assert_string_equal(text, "it had its 7200 s of CPU time");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_silent_target_stops_at_its_price),
    cmocka_unit_test(a_lively_one_goes_on),
    cmocka_unit_test(silence_is_cpu_time_or_wall_time),
    cmocka_unit_test(trouble_holds_all_but_the_wall_rule),
    cmocka_unit_test(inputs_that_grow_are_waited_for),
    cmocka_unit_test(the_cap_ends_it),
    cmocka_unit_test(a_user_sees_why),
};

UNIT_MAIN(tests)
