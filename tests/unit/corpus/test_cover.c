/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/corpus/cover.h"

static int as_libfuzzer(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	if (all.v[*x].size != all.v[*y].size)
		return all.v[*x].size < all.v[*y].size ? -1 : 1;
	if (feature_count[*x] != feature_count[*y])
		return feature_count[*x] > feature_count[*y] ? -1 : 1;
	return strcmp(all.v[*x].name, all.v[*y].name);
}

/* The same choice by the simplest algorithm. */
static size_t expect(bool chosen[INPUTS])
{
	bool covered[FEATURES] = {0};
	size_t order[INPUTS], n = 0;

	for (size_t i = 0; i < all.n; i++)
		order[i] = i;
	qsort(order, all.n, sizeof(order[0]), as_libfuzzer);
	for (size_t i = 0; i < all.n; i++) {
		bool fresh = false;

		for (unsigned f = 0; f < FEATURES; f++) {
			fresh |= has[order[i]][f] && !covered[f];
			covered[f] |= has[order[i]][f];
		}
		chosen[order[i]] = fresh;
		n += fresh;
	}
	return n;
}

static void random_corpus(void)
{
	while (all.n < INPUTS) {
		unsigned n = rnd(30);

		add_input(rnd(40)); /* many inputs of one size */
		while (n-- > 0)
			give(all.n - 1, rnd(rnd(4) ? FEATURES / 4 : FEATURES));
	}
}

static void test_choice(void **state)
{
	bool want[INPUTS] = {0};
	struct measured m;
	size_t n;

	(void)state;
	random_corpus();
	n = expect(want);
	assert_in_range(n, 20, INPUTS - 20);
	for (size_t shards = 1; shards <= SHARDS; shards++) {
		_autoreach_ struct reach total = {0};
		_autoreach_ struct reach again = {0};
		_autocandidates_ struct candidates chosen = {0};

		measure(&m, shards, &all, NULL);
		chosen = chosen_of(&m, &total);
		assert_int_equal(chosen.n, n);
		for (size_t i = 0; i < chosen.n; i++) {
			assert_true(want[index_of(&chosen.v[i])]);
			if (i > 0)
				assert_true(chosen.v[i - 1].size <= chosen.v[i].size);
		}
		assert_int_equal(total.ran, INPUTS);
		assert_int_equal(total.failed + total.waiting, 0);
		again = reach_of(&m);
		assert_int_equal(bits_missing(&total.features, &again.features), 0);
		assert_int_equal(bits_missing(&again.features, &total.features), 0);
		assert_int_equal(again.features.count, total.features.count);
		assert_int_equal(again.edges.count, total.edges.count);
		measured_done(&m);

		/* The guard: measured alone, the chosen inputs reach all features. */
		measure(&m, 1, &chosen, NULL);
		reach_done(&again);
		again = reach_of(&m);
		assert_int_equal(again.ran, n);
		assert_memory_equal(&(struct cover_gap){0},
				    &(struct cover_gap[]){cover_gap(&total, &again)}[0],
				    sizeof(struct cover_gap));
		measured_done(&m);
	}
}

static void test_order(void **state)
{
	struct measured m;
	_autoreach_ struct reach total = {0};
	_autocandidates_ struct candidates chosen = {0};

	(void)state;
	add_input(9); /* all features, but large */
	add_input(3); /* smaller than the input with more features */
	add_input(4);
	add_input(4); /* of this size, with more features */
	add_input(4); /* no new feature */
	add_input(0); /* no feature */
	for (unsigned f = 0; f < 6; f++)
		give(0, f);
	give(1, 0);
	give(2, 1);
	give(3, 1);
	give(3, 2);
	give(4, 2);
	measure(&m, 2, &all, NULL);
	chosen = chosen_of(&m, &total);
	assert_int_equal(chosen.n, 3);
	assert_int_equal(index_of(&chosen.v[0]), 1);
	assert_int_equal(index_of(&chosen.v[1]), 3);
	assert_int_equal(index_of(&chosen.v[2]), 0);
	assert_int_equal(total.features.count, 6);
	assert_int_equal(total.edges.count, 1);
	measured_done(&m);
}

/* Features in *io count as covered: no input is taken for them. */
static void test_covered_before(void **state)
{
	struct measured m;
	_autoreach_ struct reach total = {0};
	_autocandidates_ struct candidates chosen = {0};

	(void)state;
	add_input(1);
	add_input(2);
	give(0, 7);
	give(1, 8);
	assert_int_equal(bits_add(&total.features, 7), 1);
	measure(&m, 1, &all, NULL);
	chosen = chosen_of(&m, &total);
	assert_int_equal(chosen.n, 1);
	assert_int_equal(index_of(&chosen.v[0]), 1);
	assert_int_equal(total.features.count, 2);
	measured_done(&m);
}

static void test_failed(void **state)
{
	bool failing[INPUTS] = {false, true, false, true};
	struct measured m;
	_autoreach_ struct reach total = {0};
	_autocandidates_ struct candidates chosen = {0};
	struct candidates other = {0};
	struct err e;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		add_input(i + 1);
		give(i, i);
	}
	measure(&m, 1, &all, failing);
	assert_true(m.control[0]->started); /* the last input failed */
	chosen = chosen_of(&m, &total);
	assert_int_equal(chosen.n, 2);
	assert_int_equal(index_of(&chosen.v[0]), 0);
	assert_int_equal(index_of(&chosen.v[1]), 2);
	assert_int_equal(total.ran, 2);
	assert_int_equal(total.failed, 2);
	assert_int_equal(total.waiting, 0);

	/* The list of another shard. */
	m.s[0].list = &other;
	candidates_done(&chosen);
	assert_int_equal(cover_choose(m.s, 1, &chosen, &total, &e), -EINVAL);
	assert_string_equal(e.msg, "shard 0 has another's list");
	assert_int_equal(cover_reach(m.s, 1, &total, &e), -EINVAL);
	measured_done(&m);
}

static void test_waiting(void **state)
{
	_autoreach_ struct reach got = {0};
	struct measured m;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		add_input(i + 1);
	measure(&m, 1, &all, NULL);
	m.control[0]->inputs[3].state = CONTROL_WAITS;
	got = reach_of(&m);
	assert_int_equal(got.ran, 3);
	assert_int_equal(got.waiting, 1);
	measured_done(&m);
}

/* --- the smallest choice ------------------------------------------------------------ */

static struct candidates fewest_of(const struct measured *m, const struct candidates *of)
{
	struct candidates fewest = {0};
	struct err e = {0};

	if (cover_fewest(m->s, m->n, of, &fewest, &e) < 0)
		fail_msg("%s", e.msg);
	return fewest;
}

/* Counts the inputs that have each feature. */
static void count_features(const struct candidates *c, unsigned ret[FEATURES])
{
	memset(ret, 0, FEATURES * sizeof(*ret));
	for (size_t i = 0; i < c->n; i++)
		for (unsigned f = 0; f < FEATURES; f++)
			ret[f] += has[index_of(&c->v[i])][f];
}

static void test_fewest(void **state)
{
	(void)state;
	random_corpus();
	for (size_t shards = 1; shards <= SHARDS; shards++) {
		unsigned want[FEATURES], got[FEATURES];
		_autoreach_ struct reach total = {0};
		_autocandidates_ struct candidates chosen = {0}, fewest = {0};
		struct measured m;

		measure(&m, shards, &all, NULL);
		chosen = chosen_of(&m, &total);
		fewest = fewest_of(&m, &chosen);
		count_features(&chosen, want);
		count_features(&fewest, got);
		for (unsigned f = 0; f < FEATURES; f++)
			assert_int_equal(want[f] > 0, got[f] > 0);
		for (size_t i = 0; i < fewest.n; i++)
			assert_non_null(
			    candidates_find(&chosen, fewest.v[i].name, fewest.v[i].size));
		assert_in_range(fewest.n, 1, chosen.n * 9 / 10);
		measured_done(&m);
	}
}

/* A large input reaches the features of many small inputs. */
static void test_one_for_many(void **state)
{
	_autocandidates_ struct candidates fewest = {0}, small = {0};
	struct measured m;
	struct err e;

	(void)state;
	for (unsigned f = 0; f < 20; f++) {
		add_input(f + 1);
		give(f, f);
		assert_int_equal(candidates_add(&small, all.v[f].name, all.v[f].size, &e), 0);
	}
	add_input(100);
	for (unsigned f = 0; f < 20; f++)
		give(20, f);
	add_input(200); /* reaches nothing */
	measure(&m, 3, &all, NULL);
	candidates_sort(&all);
	candidates_sort(&small);
	fewest = fewest_of(&m, &all);
	assert_int_equal(fewest.n, 1);
	assert_int_equal(fewest.v[0].size, 100);
	/* The input is not among the candidates. */
	candidates_done(&fewest);
	fewest = fewest_of(&m, &small);
	assert_int_equal(fewest.n, 20);
	measured_done(&m);
}

/* The greedy choice takes the widest input first, and later choices make it redundant. */
static void test_superfluous(void **state)
{
	_autocandidates_ struct candidates fewest = {0};
	struct measured m;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		add_input(1);
	for (unsigned f = 0; f < 12; f++) {
		if (f % 3 != 0)
			give(0, f); /* 8 features */
		give(1 + f / 6, f); /* 6 features each */
	}
	measure(&m, 1, &all, NULL);
	candidates_sort(&all);
	fewest = fewest_of(&m, &all);
	assert_int_equal(fewest.n, 2);
	measured_done(&m);
}

static void test_nothing(void **state)
{
	_autocandidates_ struct candidates fewest = {0};
	struct measured m;
	struct candidates other = {0};
	struct err e;

	(void)state;
	add_input(1); /* reaches nothing */
	measure(&m, 1, &all, NULL);
	fewest = fewest_of(&m, &all);
	assert_int_equal(fewest.n, 0);
	m.s[0].list = &other;
	assert_int_equal(cover_fewest(m.s, 1, &all, &fewest, &e), -EINVAL);
	measured_done(&m);
}

static const struct CMUnitTest tests[] = {
    CASE(test_choice),	     CASE(test_order),	     CASE(test_covered_before),
    CASE(test_failed),	     CASE(test_waiting),     CASE(test_fewest),
    CASE(test_one_for_many), CASE(test_superfluous), CASE(test_nothing),
};

UNIT_MAIN(tests)
