/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/policy/chance.h"
#include "runner/rounds/shards.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY = 300 };

static char names[MANY][16];
static struct shards_target targets[MANY];

/* A fleet as it is: a few young targets that find much, and many old ones. */
static void fleet(size_t n)
{
	struct chance c;

	chance_seed(&c, 11);
	for (size_t i = 0; i < n; i++) {
		double age = 30 + 1e5 * chance_uniform(&c) * chance_uniform(&c);

		snprintf(names[i], sizeof(names[i]), "t%zu", i);
		targets[i] = (struct shards_target){.name = names[i],
						    .found = i % 10 ? 3 : 400,
						    .age_s = age,
						    .gate = 50,
						    .build_age_s = age * 2,
						    .had_s = age,
						    .weight = 1};
	}
}

static struct shards_spec spec_of(size_t n, unsigned shards, unsigned workers)
{
	return (struct shards_spec){.targets = targets,
				    .n = n,
				    .shards = shards,
				    .workers = workers,
				    .seconds = 3600,
				    .least = 30};
}

static double part_of(const struct shards *s, size_t target, unsigned *ret_shards)
{
	double sum = 0;

	*ret_shards = 0;
	for (unsigned i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->v[i].n; k++)
			if (s->v[i].v[k].target == target) {
				assert_int_equal(s->v[i].v[k].part, *ret_shards);
				sum += s->v[i].v[k].seconds;
				++*ret_shards;
			}
	return sum;
}

/* Every target is in a shard, no second is lost or given twice, and all shards have the same work.
 */
static void test_all_time(void **state)
{
	static const unsigned counts[][2] = {{1, 1}, {1, 4}, {2, 1}, {7, 2}, {64, 2}, {100, 3}};

	(void)state;
	fleet(MANY);
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		struct shards_spec spec = spec_of(MANY, counts[c][0], counts[c][1]);
		double each = spec.seconds * spec.workers;
		struct shards s;

		shards_divide(&spec, &s);
		for (size_t t = 0; t < MANY; t++) {
			unsigned parts;

			assert_true(fabs(part_of(&s, t, &parts) - s.seconds[t]) < 0.01);
			assert_true(parts > 0 && parts <= s.n);
			assert_true(s.seconds[t] >= fmin(spec.least, each * s.n / MANY / 4) - 0.01);
		}
		for (unsigned i = 0; i < s.n; i++)
			if (fabs(s.v[i].seconds - each) > each * 0.05)
				fail_msg("%u shards: shard %u has %f of %f s", s.n, i,
					 s.v[i].seconds, each);
		shards_done(&s);
	}
}

/* No second would find more elsewhere. */
static void test_rates(void **state)
{
	struct shards_spec spec = spec_of(MANY, 16, 1);
	struct shards s;

	(void)state;
	fleet(MANY);
	shards_divide(&spec, &s);
	for (size_t t = 0; t < MANY; t++) {
		const struct shards_target *x = &targets[t];
		double rate = x->found / (x->age_s + s.seconds[t]) +
			      x->gate / (x->build_age_s + s.seconds[t]);

		if (s.seconds[t] <= spec.least + 0.01)
			assert_true(rate <= s.rate * 1.01);
		else
			assert_true(fabs(rate / s.rate - 1) < 0.01);
	}
	shards_done(&s);
}

/* A target that finds much is in many shards, at most once in each. */
static void test_promising(void **state)
{
	struct shards_spec spec = spec_of(20, 8, 2);
	unsigned parts;
	struct shards s;

	(void)state;
	fleet(20);
	targets[3].found = 1e6;
	shards_divide(&spec, &s);
	assert_true(fabs(part_of(&s, 3, &parts) - 8 * spec.seconds) < 1);
	assert_int_equal(parts, 8);
	for (unsigned i = 0; i < s.n; i++)
		for (size_t k = 1; k < s.v[i].n; k++)
			assert_true(s.v[i].v[k - 1].target < s.v[i].v[k].target);
	shards_done(&s);
}

static void test_edges(void **state)
{
	struct shards_spec spec = spec_of(MANY, 5, 2);
	double sum = 0, all = 0;
	struct shards s;

	(void)state;
	fleet(MANY);
	shards_divide(&spec, &s);
	for (unsigned i = 0; i < s.n; i++)
		sum += s.v[i].edges;
	for (size_t t = 0; t < MANY; t++)
		all += shards_edges(&targets[t], s.seconds[t]);
	assert_true(fabs(sum / all - 1) < 0.001);
	shards_done(&s);
}

/* More shards than targets, targets that find nothing, none. */
static void test_few(void **state)
{
	struct shards_spec spec = spec_of(1, 4, 2);
	unsigned parts;
	struct shards s;

	(void)state;
	fleet(MANY);
	shards_divide(&spec, &s);
	assert_true(fabs(part_of(&s, 0, &parts) - 4 * spec.seconds) < 1);
	assert_int_equal(parts, 4);
	shards_done(&s);
	for (size_t t = 0; t < MANY; t++)
		targets[t].found = targets[t].gate = 0;
	spec = spec_of(MANY, 4, 2);
	shards_divide(&spec, &s);
	for (size_t t = 0; t < MANY; t++)
		assert_true(part_of(&s, t, &parts) >= spec.least - 0.01);
	shards_done(&s);
	spec = spec_of(0, 4, 2);
	shards_divide(&spec, &s);
	assert_int_equal(s.n, 4);
	assert_int_equal(s.v[3].n, 0);
	shards_done(&s);
}

/* Time for a tenth of the least: what is not known yet is looked at for an equal share, and what is
 * known waits for that, but for what finds much. */
static void test_little_time(void **state)
{
	struct shards_spec spec = spec_of(MANY, 4, 2);
	double equal = spec.least / 10, promising = 0;
	unsigned parts;
	struct shards s;

	(void)state;
	fleet(MANY);
	spec.seconds = equal * MANY / 8;
	shards_divide(&spec, &s);
	for (size_t t = 0; t < MANY; t++)
		assert_true(part_of(&s, t, &parts) >= equal / 4 - 0.01);
	for (size_t t = 0; t < MANY; t += 10)
		promising += part_of(&s, t, &parts);
	assert_true(promising > MANY / 10 * 4 * equal);
	shards_done(&s);
	for (size_t t = 0; t < MANY; t++)
		targets[t].had_s = t % 2 ? 0 : 100;
	shards_divide(&spec, &s);
	for (size_t t = 1; t < MANY; t += 2)
		assert_true(part_of(&s, t, &parts) >= equal - 0.01);
	shards_done(&s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_all_time),  cmocka_unit_test(test_rates),
    cmocka_unit_test(test_promising), cmocka_unit_test(test_edges),
    cmocka_unit_test(test_few),	      cmocka_unit_test(test_little_time),
};

UNIT_MAIN(tests)
