/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/corpus/cover.h"
#include "tests/unit/corpus/merge.h"

/* A corpus whose features we know: input i has size[i], and feature f when has[i][f]. */
enum { INPUTS = 200, FEATURES = 400, SHARDS = 5 };

static struct scratch dir;
static struct candidates all;
static bool has[INPUTS][FEATURES];
static unsigned feature_count[INPUTS];

/* The same numbers in every run. */
static uint32_t seed;
static uint32_t rnd(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static int each_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	all = (struct candidates){0};
	memset(has, 0, sizeof(has));
	memset(feature_count, 0, sizeof(feature_count));
	seed = 1;
	return 0;
}

static int each_teardown(void **state)
{
	(void)state;
	candidates_done(&all);
	scratch_remove(&dir);
	return 0;
}

static void add_input(uint64_t size)
{
	char name[STORE_NAME];
	struct err e;

	/* In another order than their names. */
	snprintf(name, sizeof(name), "%040zx", (all.n * 7919) % 100003);
	assert_int_equal(candidates_add(&all, name, size, &e), 0);
}

static void give(size_t input, unsigned feature)
{
	feature_count[input] += !has[input][feature];
	has[input][feature] = true;
}

static size_t index_of(const struct candidate *c)
{
	for (size_t i = 0; i < all.n; i++)
		if (strcmp(all.v[i].name, c->name) == 0)
			return i;
	fail_msg("'%s' is no input", c->name);
	return 0;
}

/* --- shards as cells leave them ------------------------------------------------------- */

struct measured {
	struct cover_shard s[SHARDS];
	struct control *control[SHARDS];
	struct candidates list[SHARDS];
	size_t n;
};

/* An edge is eight features; each is listed by the first of a shard that has one. */
static void write_edges(struct buf *b, size_t input, size_t at, bool seen[FEATURES / 8])
{
	struct err e;

	assert_int_equal(buf_addf(b, &e, "COV %zu", at), 0);
	for (unsigned f = 0; f < FEATURES; f++)
		if (has[input][f] && !seen[f / 8]) {
			seen[f / 8] = true;
			assert_int_equal(buf_addf(b, &e, " %u", f / 8), 0);
		}
	assert_int_equal(buf_add(b, SLICE("\n"), &e), 0);
}

static void write_shard(const char *file, const struct candidates *list, const bool *failing)
{
	_autobuf_ struct buf b = BUF_INIT(8 << 20);
	bool seen[FEATURES / 8] = {0};
	struct err e;

	for (size_t at = 0; at < list->n; at++) {
		size_t input = index_of(&list->v[at]);

		assert_int_equal(buf_addf(&b, &e, "STARTED %zu 1\n", at), 0);
		if (failing && failing[input])
			continue;
		assert_int_equal(buf_addf(&b, &e, "FT %zu", at), 0);
		for (unsigned f = 0; f < FEATURES; f++)
			if (has[input][f])
				assert_int_equal(buf_addf(&b, &e, " %u", f), 0);
		assert_int_equal(buf_add(&b, SLICE("\n"), &e), 0);
		write_edges(&b, input, at, seen);
	}
	write_control(dir.fd, file, list);
	append(dir.fd, file, buf_str(&b));
}

static void measure(struct measured *m, size_t shards, const struct candidates *what,
		    const bool *failing)
{
	char file[32];

	*m = (struct measured){.n = shards};
	for (size_t i = 0; i < what->n; i++) {
		struct err e;

		assert_int_equal(
		    candidates_add(&m->list[i % shards], what->v[i].name, what->v[i].size, &e), 0);
	}
	for (size_t k = 0; k < shards; k++) {
		candidates_sort(&m->list[k]);
		snprintf(file, sizeof(file), "cf%zu", k);
		write_shard(file, &m->list[k], failing);
		m->control[k] = read_control(dir.fd, file, &m->list[k]);
		assert_string_equal(m->control[k]->why, "");
		m->s[k] = (struct cover_shard){.control = m->control[k], .list = &m->list[k]};
	}
}

static void measured_done(struct measured *m)
{
	for (size_t k = 0; k < m->n; k++) {
		control_free(m->control[k]);
		candidates_done(&m->list[k]);
	}
}

#define _autoreach_ CLEANUP(reach_done)

static struct reach reach_of(const struct measured *m)
{
	struct reach got = {0};
	struct err e = {0};

	if (cover_reach(m->s, m->n, &got, &e) < 0)
		fail_msg("%s", e.msg);
	return got;
}

static struct candidates chosen_of(const struct measured *m, struct reach *io)
{
	struct candidates chosen = {0};
	struct err e = {0};

	if (cover_choose(m->s, m->n, &chosen, io, &e) < 0)
		fail_msg("%s", e.msg);
	return chosen;
}

/* --- the choice ------------------------------------------------------------------------- */

static int as_libfuzzer(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	if (all.v[*x].size != all.v[*y].size)
		return all.v[*x].size < all.v[*y].size ? -1 : 1;
	if (feature_count[*x] != feature_count[*y])
		return feature_count[*x] > feature_count[*y] ? -1 : 1;
	return strcmp(all.v[*x].name, all.v[*y].name);
}

/* The same choice, made in the simplest way. */
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

		add_input(rnd(40)); /* many of one size */
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

		/* The guard: measured alone, they reach all of it. */
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
	add_input(9); /* all, but large */
	add_input(3); /* smaller than what has more */
	add_input(4);
	add_input(4); /* of this size, more */
	add_input(4); /* nothing new */
	add_input(0); /* nothing at all */
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

/* What is in *io counts as covered: nothing is taken for it. */
static void test_covered_before(void **state)
{
	struct measured m;
	_autoreach_ struct reach total = {0};
	_autocandidates_ struct candidates chosen = {0};
	struct err e;

	(void)state;
	add_input(1);
	add_input(2);
	give(0, 7);
	give(1, 8);
	assert_int_equal(bits_add(&total.features, 7, &e), 1);
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
	assert_true(m.control[0]->started); /* the last one failed */
	chosen = chosen_of(&m, &total);
	assert_int_equal(chosen.n, 2);
	assert_int_equal(index_of(&chosen.v[0]), 0);
	assert_int_equal(index_of(&chosen.v[1]), 2);
	assert_int_equal(total.ran, 2);
	assert_int_equal(total.failed, 2);
	assert_int_equal(total.waiting, 0);

	/* A list that is another shard's. */
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

/* --- what is missing ---------------------------------------------------------------------- */

/* Inputs 0, 1 and 2 had feature 5 when all was measured; only 2 has it again, and
 * nobody has 6, which only 0 had. */
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
		give(i, 0); /* 0 is all that the first one brings for good */
	has[0][1] = has[1][2] = has[2][3] = true;
	measure(&m, 2, &all, NULL);
	chosen = chosen_of(&m, &total);
	assert_int_equal(total.features.count, 6);

	/* Only the first one was chosen, say. */
	candidates_done(&chosen);
	assert_int_equal(candidates_add(&chosen, all.v[0].name, all.v[0].size, &e), 0);
	has[0][5] = has[1][5] = has[0][60] = has[0][1] = false;
	for (unsigned round = 0; round < 3; round++) {
		measure(&some, 1, &chosen, NULL);
		reach_done(&got);
		got = reach_of(&some);
		assert_int_equal(cover_top_up(m.s, m.n, &total, &got, &chosen, &added, &gap, &e),
				 0);
		assert_int_equal(gap.lost_features, 1); /* 60: all that had it are chosen */
		assert_int_equal(gap.lost_edges, 1);
		if (round == 0) {
			/* 1, 2, 3, 5 and 60; the smallest that had each. */
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

/* An edge alone can be missing: from the one that listed it. */
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

	assert_int_equal(bits_add(&got.edges, 10, &e), 1);
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
		assert_true(r == -ENOMEM || r == -EIO);
		assert_true(*e.msg);
	}
	assert_true(at > 30);
	measured_done(&m);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_choice),	CASE(test_order),  CASE(test_covered_before), CASE(test_failed),
    CASE(test_waiting), CASE(test_top_up), CASE(test_top_up_edge),    CASE(test_faults),
};

UNIT_MAIN(tests)
