/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/corpus/cover.h"

/* --- missing features --------------------------------------------------------------------- */

/* Inputs 0, 1 and 2 had feature 5 when all inputs were measured.  Now only 2 has it, and no input
 * has feature 6, which only 0 had. */
static void test_top_up(void **state)
{
	struct measured m, some;
	_autoreach_ struct reach total = {0};
	_autoreach_ struct reach got = {0};
	_autocandidates_ struct candidates chosen = {0};
	struct cover_gap gap;
	struct err e;
	size_t added;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		add_input(i + 1);
		give(i, i);
	}
	for (unsigned i = 0; i < 3; i++)
		give(i, 5);
	give(0, 60);
	for (unsigned i = 1; i < 4; i++)
		give(i, 0); /* 0 is the only lasting feature of the first input */
	has[0][1] = has[1][2] = has[2][3] = true;
	measure(&m, 2, &all, NULL);
	chosen = chosen_of(&m, &total);
	assert_int_equal(total.features.count, 6);

	/* Suppose that only the first input was chosen. */
	candidates_done(&chosen);
	assert_int_equal(candidates_add(&chosen, all.v[0].name, all.v[0].size, &e), 0);
	has[0][5] = has[1][5] = has[0][60] = has[0][1] = false;
	for (unsigned round = 0; round < 3; round++) {
		measure(&some, 1, &chosen, NULL);
		reach_done(&got);
		got = reach_of(&some);
		assert_int_equal(cover_top_up(m.s, m.n, &total, &got, &chosen, &added, &gap, &e),
				 0);
		assert_int_equal(gap.lost_features, 1); /* 60: all inputs that had it are chosen */
		assert_int_equal(gap.lost_edges, 1);
		if (round == 0) {
			/* 1, 2, 3, 5 and 60; for each the smallest input that had it. */
			assert_int_equal(gap.features, 5);
			assert_int_equal(gap.edges, 1);
			assert_int_equal(added, 2);
			assert_int_equal(chosen.n, 3);
		} else {
			assert_int_equal(gap.features, 1);
			assert_int_equal(added, 0);
		}
		measured_done(&some);
	}
	assert_int_equal(cover_gap(&total, &got).features, 1);
	assert_int_equal(cover_gap(&got, &total).features, 0);
	measured_done(&m);
}

/* An edge can be missing without a feature: the input that listed the edge is added. */
static void test_top_up_edge(void **state)
{
	struct measured m;
	_autoreach_ struct reach total = {0};
	_autoreach_ struct reach got = {0};
	_autocandidates_ struct candidates chosen = {0};
	struct cover_gap gap;
	struct err e;
	size_t added;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		add_input(i + 1);
		give(i, 80 * i);
	}
	measure(&m, 1, &all, NULL);
	total = reach_of(&m);
	got = reach_of(&m);
	assert_int_equal(bits_remove(&got.edges, 10), 1);
	assert_int_equal(cover_top_up(m.s, m.n, &total, &got, &chosen, &added, &gap, &e), 0);
	assert_int_equal(gap.features, 0);
	assert_int_equal(gap.edges, 1);
	assert_int_equal(gap.lost_edges, 0);
	assert_int_equal(added, 1);
	assert_int_equal(index_of(&chosen.v[0]), 1);

	assert_int_equal(bits_add(&got.edges, 10), 1);
	assert_int_equal(cover_top_up(m.s, m.n, &total, &got, &chosen, &added, &gap, &e), 0);
	assert_int_equal(added, 0);
	assert_int_equal(chosen.n, 1);
	measured_done(&m);
}

/* --- faults --------------------------------------------------------------------------------- */

static int all_of_it(const struct measured *m, struct err *e)
{
	_autoreach_ struct reach total = {0};
	_autoreach_ struct reach got = {0};
	_autocandidates_ struct candidates chosen = {0};
	_autocandidates_ struct candidates none = {0};
	struct cover_gap gap;
	size_t added;
	int r = cover_choose(m->s, m->n, &chosen, &total, e);

	if (r == 0)
		r = cover_reach(m->s, m->n, &got, e);
	if (r < 0)
		return r;
	reach_done(&got);
	return cover_top_up(m->s, m->n, &total, &got, &none, &added, &gap, e);
}

static void test_faults(void **state)
{
	struct measured m;
	unsigned at = 1;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		add_input(i + 1);
		give(i, i * 9);
	}
	measure(&m, 2, &all, NULL);
	for (;; at++) {
		struct err e = {0};
		int r;

		fault_arm(at, FAULT_FAIL);
		r = all_of_it(&m, &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0)
			break;
		assert_int_equal(r, -e.code);
		assert_int_equal(r, -EIO);
		assert_true(*e.msg);
	}
	assert_true(at > 5);
	measured_done(&m);
}

static const struct CMUnitTest tests[] = {
    CASE(test_top_up),
    CASE(test_top_up_edge),
    CASE(test_faults),
};

UNIT_MAIN(tests)
