/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/policy/share.h"

#include <math.h>

#define S UINT64_C(1000000)

enum { PICKS = 20000 };

static const struct share_rules by_index = {.kind = SHARE_INDEX, .idle = true, .floor = 0.05};

/* An old target with an expected rate of edges per second. */
static struct share_item paying(double rate)
{
	return (struct share_item){
	    .waits = true,
	    .found = rate * 1000 / 2,
	    .age_s = 1000,
	    .gate = rate * 5000 / 2,
	    .build_age_s = 5000,
	    .price = 0.05,
	    .weight = 1,
	    .turn_began_us = 1,
	};
}

static void count(const struct share_rules *r, const struct share_item *v, size_t n,
		  unsigned picked[], unsigned why[])
{
	struct chance c;

	chance_seed(&c, 7);
	memset(picked, 0, (n + 1) * sizeof(*picked));
	memset(why, 0, (SHARE_TOO_POOR + 1) * sizeof(*why));
	for (unsigned i = 0; i < PICKS; i++) {
		enum share_why w;

		picked[share_pick(r, v, n, &c, &w)]++;
		why[w]++;
	}
}

static void the_better_one_more_often(void **state)
{
	struct share_item v[3] = {paying(0.5), paying(1), paying(0.5)};
	unsigned picked[4], why[SHARE_TOO_POOR + 1];

	(void)state;
	v[0].turn_began_us = 3;
	v[1].turn_began_us = 2;
	v[2].turn_began_us = 1; /* chosen by the floor */
	count(&by_index, v, 3, picked, why);
	assert_true(picked[1] > 0.6 * PICKS);
	assert_true(picked[0] > 0.02 * PICKS); /* it may still be the best target */
	assert_in_range(why[SHARE_FLOOR], 0.04 * PICKS, 0.06 * PICKS);
	assert_true(picked[2] >= why[SHARE_FLOOR]);
	assert_int_equal(picked[3], 0);
}

static void alike_share_alike(void **state)
{
	struct share_item v[4] = {paying(1), paying(1), paying(1), paying(1)};
	unsigned picked[5], why[SHARE_TOO_POOR + 1];
	struct share_rules r = by_index;

	(void)state;
	r.floor = 0;
	count(&r, v, 4, picked, why);
	for (int i = 0; i < 4; i++)
		assert_in_range(picked[i], 0.23 * PICKS, 0.27 * PICKS);
	v[2].weight = 0.1; /* unhealthy */
	count(&r, v, 4, picked, why);
	assert_true(picked[2] < 0.02 * PICKS);
}

static void new_builds_come_first(void **state)
{
	struct share_item v[4] = {paying(1000), paying(1), paying(1), paying(1)};
	struct chance c = {{0}};
	enum share_why why;

	(void)state;
	v[1].fresh = v[2].fresh = v[3].fresh = true;
	assert_int_equal(share_pick(&by_index, v, 4, &c, &why), 1);
	assert_int_equal(why, SHARE_FRESH);
	v[1].turn_began_us = 5; /* it had a turn */
	v[3].priority = 1;
	assert_int_equal(share_pick(&by_index, v, 4, &c, &why), 3);
	v[3].waits = false;
	assert_int_equal(share_pick(&by_index, v, 4, &c, &why), 2);
	v[1].fresh = v[2].fresh = false;
	v[2].turn_began_us = 0; /* old, and without a turn yet */
	assert_int_equal(share_pick(&by_index, v, 4, &c, &why), 2);
	v[1].fresh = true;
	assert_int_equal(share_pick(&by_index, v, 4, &c, &why), 1);
}

static void what_does_not_pay_leaves_the_core_idle(void **state)
{
	struct share_item v[2] = {paying(0.04), paying(0.04)};
	unsigned picked[3], why[SHARE_TOO_POOR + 1];
	struct share_rules r = by_index;

	(void)state;
	count(&r, v, 2, picked, why); /* except for the floor */
	assert_in_range(picked[2], 0.94 * PICKS, 0.96 * PICKS);
	assert_int_equal(why[SHARE_TOO_POOR], picked[2]);
	v[0] = paying(1);
	v[0].resting = true; /* its own rule forbids it */
	r.floor = 0;
	count(&r, v, 2, picked, why);
	assert_int_equal(picked[2], PICKS);
	v[1].price = 0;
	count(&r, v, 2, picked, why);
	assert_int_equal(picked[1], PICKS);
	v[1].price = 0.05;
	r.idle = false;
	count(&r, v, 2, picked, why);
	assert_int_equal(picked[1], PICKS);
	v[0].waits = v[1].waits = false;
	count(&by_index, v, 2, picked, why);
	assert_int_equal(why[SHARE_NOBODY], PICKS);
}

static void the_floor_is_for_everybody(void **state)
{
	struct share_item v[5];
	unsigned picked[5] = {0};
	struct chance c;
	enum share_why why;

	(void)state;
	chance_seed(&c, 1);
	v[0] = paying(1e6);
	for (int i = 1; i < 5; i++) {
		v[i] = paying(1e-6);
		v[i].resting = i > 2;
	}
	for (uint64_t t = 2; t <= PICKS; t++) {
		size_t i = share_pick(&by_index, v, 5, &c, &why);

		picked[i]++;
		v[i].turn_began_us = t;
	}
	for (int i = 1; i < 5; i++)
		assert_in_range(picked[i], 0.05 * PICKS / 5, 0.05 * PICKS / 3);
}

static void equal_goes_by_what_they_had(void **state)
{
	struct share_rules r = {.kind = SHARE_EQUAL};
	struct share_item v[3] = {paying(1), paying(1000), paying(1)};
	struct chance c = {{0}};
	enum share_why why;
	unsigned had[3] = {0};

	(void)state;
	for (int i = 0; i < 30; i++) {
		size_t at = share_pick(&r, v, 3, &c, &why);

		assert_int_equal(why, SHARE_TURN);
		had[at]++;
		v[at].spent_us += 300 * S;
	}
	assert_int_equal(had[0], 10);
	assert_int_equal(had[1], 10);
	v[0].resting = v[1].resting = v[2].resting = true;
	assert_int_equal(share_pick(&r, v, 3, &c, &why), 3);
	assert_int_equal(why, SHARE_TOO_POOR);
}

static void a_queue_goes_to_the_end_of_each(void **state)
{
	struct share_rules r = {.kind = SHARE_QUEUE};
	struct share_item v[3] = {paying(1), paying(1), paying(1)};
	struct chance c = {{0}};
	enum share_why why;

	(void)state;
	v[0].turn_began_us = v[1].turn_began_us = v[2].turn_began_us = 0;
	assert_int_equal(share_pick(&r, v, 3, &c, &why), 0);
	v[1].turn_began_us = 1;
	assert_int_equal(share_pick(&r, v, 3, &c, &why), 1);
	v[1].waits = false;
	assert_int_equal(share_pick(&r, v, 3, &c, &why), 0);
}

static void the_sick_weigh_less(void **state)
{
	struct share_health h = {.turns = 4};

	(void)state;
	assert_true(share_weight(&(struct share_health){0}, 0) == 1);
	assert_true(share_weight(&h, 0) == 1);
	h.crashed = 4;
	assert_true(fabs(share_weight(&h, 0) - 0.5) < 1e-9);
	h.limited = 2;
	assert_true(fabs(share_weight(&h, 0) - 0.5) < 1e-9); /* the lowest weight counts */
	h.limited = 4;
	assert_true(fabs(share_weight(&h, 0) - 0.25) < 1e-9);
	h.not_started = 4;
	assert_true(fabs(share_weight(&h, 0) - 0.1) < 1e-9);
	assert_true(fabs(share_weight(&h, 20) - 0.4) < 1e-9);
	assert_true(fabs(share_weight(&h, -10) - 0.05) < 1e-9);
	assert_true(isfinite(share_weight(&h, INT32_MAX)) && share_weight(&h, INT32_MIN) > 0);
}

/* Means and variances are within four standard deviations of their exact values. */
static void chances_are_as_they_should_be(void **state)
{
	static const double shapes[] = {0.5, 0.9, 1, 2.5, 40, 1e5};
	struct chance c, again;

	(void)state;
	chance_seed(&c, 1);
	chance_seed(&again, 1);
	assert_true(chance_uniform(&c) == chance_uniform(&again));
	chance_seed(&again, 2);
	assert_true(chance_uniform(&c) != chance_uniform(&again));
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		double sum = 0, squares = 0, k = shapes[i], mean, variance;

		for (int n = 0; n < PICKS; n++) {
			double x = chance_gamma(&c, k);

			assert_true(x >= 0 && isfinite(x));
			sum += x;
			squares += x * x;
		}
		mean = sum / PICKS;
		variance = squares / PICKS - mean * mean;
		assert_true(fabs(mean - k) < 4 * sqrt(k / PICKS));
		assert_true(fabs(variance - k) < 4 * sqrt((2 * k * k + 6 * k) / PICKS) + 1e-3 * k);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_better_one_more_often),
    cmocka_unit_test(alike_share_alike),
    cmocka_unit_test(new_builds_come_first),
    cmocka_unit_test(what_does_not_pay_leaves_the_core_idle),
    cmocka_unit_test(the_floor_is_for_everybody),
    cmocka_unit_test(equal_goes_by_what_they_had),
    cmocka_unit_test(a_queue_goes_to_the_end_of_each),
    cmocka_unit_test(the_sick_weigh_less),
    cmocka_unit_test(chances_are_as_they_should_be),
};

UNIT_MAIN(tests)
