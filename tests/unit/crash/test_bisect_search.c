/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/crash/bisect/search.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* A planted history.  Commits are numbered from the oldest; the search begins at the newest. */
enum { COMMITS = 200, BROKEN = 12, SEED = 2026 };

struct history {
	size_t n, bug;	      /* the bug is in the commits from `bug` on */
	size_t target;	      /* the first commit with the target */
	size_t hidden, shown; /* another bug hides it in the commits hidden to shown - 1 */
	double rate;	      /* with which a failing commit fails; 0: always */
	bool broken[COMMITS];
};

struct played {
	struct bisect_answer answer;
	size_t builds, unbuilt, oldest_failing, newest_other; /* SIZE_MAX: none */
};

static uint64_t seed;

/* A generator of its own, so that each machine plays the same histories. */
static double chance(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / (double)(UINT64_C(1) << 53);
}

static size_t below(size_t n)
{
	return (size_t)(chance() * (double)n);
}

/* As many tries as make a miss as unlikely as wanted; whether one of them failed. */
static bool fails_once(double rate, double *io_miss)
{
	for (double miss = 1; miss > 0.01; miss *= 1 - rate) {
		if (chance() < rate)
			return true;
		*io_miss *= 1 - rate;
	}
	return false;
}

/* The miss of a commit that passes as often as fails_once() tries. */
static double passing_miss(double rate)
{
	double miss = 1;

	while (rate > 0 && miss > 0.01)
		miss *= 1 - rate;
	return rate > 0 ? miss : 1e-4;
}

static void test_commit(const struct history *h, size_t commit, struct bisect_commit *io)
{
	double miss = io->outcome == BISECT_PASSES ? io->miss : 1;

	if (h->broken[commit])
		io->outcome = BISECT_SKIPPED;
	else if (commit < h->target)
		io->outcome = BISECT_ABSENT;
	else if (commit >= h->hidden && commit < h->shown)
		io->outcome = BISECT_OTHER;
	else if (commit < h->bug)
		*io = (struct bisect_commit){BISECT_PASSES, miss * passing_miss(h->rate)};
	else if (h->rate > 0 && !fails_once(h->rate, &miss))
		*io = (struct bisect_commit){BISECT_PASSES, miss};
	else
		io->outcome = BISECT_FAILS;
}

static struct played play(const struct history *h)
{
	struct bisect_commit v[COMMITS] = {{0}};
	struct played p = {.builds = 0};

	for (;;) {
		struct bisect_commit *c;

		p.answer = bisect_next(v, h->n);
		if (!p.answer.open)
			break;
		c = &v[p.answer.next];
		assert_in_range(p.answer.next, 0, h->n - 1);
		assert_true(p.answer.again == (c->outcome == BISECT_PASSES));
		assert_true(p.answer.again || c->outcome == BISECT_UNTESTED);
		test_commit(h, h->n - 1 - p.answer.next, c);
		p.builds += !p.answer.again && c->outcome != BISECT_SKIPPED;
		p.unbuilt += c->outcome == BISECT_SKIPPED;
	}
	p.oldest_failing = h->n - 1 - p.answer.last;
	p.newest_other = p.answer.first < h->n ? h->n - 1 - p.answer.first : SIZE_MAX;
	return p;
}

static struct history plain(size_t n, size_t bug)
{
	return (struct history){.n = n, .bug = bug};
}

/* Every edge in rows of every length: the exact commit, in few steps. */
static void test_every_edge(void **state)
{
	(void)state;
	for (size_t n = 1; n <= COMMITS; n += n < 20 ? 1 : 20) {
		size_t builds = 0;

		for (size_t bug = 0; bug < n; bug++) {
			struct history h = plain(n, bug);
			struct played p = play(&h);

			assert_int_equal(p.oldest_failing, bug);
			assert_int_equal(p.newest_other, bug ? bug - 1 : SIZE_MAX);
			assert_int_equal(p.answer.kind, bug ? BISECT_COMMIT : BISECT_ALL);
			assert_int_equal(p.answer.untested, 0);
			assert_true(p.answer.wrong <= BISECT_WRONG);
			builds += p.builds;
			/* Two for the known commit and the least likely edge. */
			assert_in_range(p.builds, 0, (size_t)(1.6 * log2((double)n)) + 2);
		}
		printf("# %zu commits: %.2f builds beside the first, on average\n", n,
		       (double)builds / (double)n - 1);
	}
}

/* 12 broken builds, 3 of them next to the bug; a target that appears; another bug. */
static struct history planted(size_t bug)
{
	struct history h = {.n = COMMITS, .bug = bug, .target = 40};
	size_t broken = 0;

	for (size_t i = 0, at = bug - 1 - below(4) + 3; i < 3; i++, at--)
		if (at != bug && at < COMMITS - 1)
			broken += !h.broken[at], h.broken[at] = true;
	while (broken < BROKEN) {
		size_t at = below(COMMITS - 1);

		if (at != bug && !h.broken[at])
			broken++, h.broken[at] = true;
	}
	return h;
}

/* The edge is in the answer, and all between its ends could not be tested. */
static void check_planted(const struct history *h, const struct played *p)
{
	size_t from = h->bug > h->target ? h->bug : h->target;

	assert_true(p->oldest_failing >= from);
	assert_true(p->newest_other != SIZE_MAX && p->newest_other < from);
	assert_int_equal(p->answer.skipped + p->answer.other + p->answer.untested,
			 p->answer.first - p->answer.last - 1);
	if (p->answer.first - p->answer.last <= 5)
		assert_int_equal(p->answer.untested, 0);
	if (p->answer.kind == BISECT_ADDED)
		assert_true(h->bug <= h->target);
}

static void test_planted(void **state)
{
	size_t builds = 0, unbuilt = 0, n = 0;

	(void)state;
	seed = SEED;
	for (size_t bug = 1; bug < COMMITS; bug++)
		for (size_t again = 0; again < 20; again++) {
			struct history h = planted(bug);
			struct played p;

			if (again % 2) {
				h.hidden = 90;
				h.shown = 121;
			}
			p = play(&h);
			check_planted(&h, &p);
			builds += p.builds - 1;
			unbuilt += p.unbuilt;
			n++;
		}
	printf("# planted: %.2f builds on average, %.2f that failed; log2(%d) is %.2f\n",
	       (double)builds / (double)n, (double)unbuilt / (double)n, COMMITS, log2(COMMITS));
	assert_true((double)builds / (double)n <= 1.3 * log2(COMMITS));
}

/* A failure of every fourth try: the answer is wrong as rarely as it says. */
static void test_flaky(void **state)
{
	size_t wrong = 0, n = 0;
	double said = 0;

	(void)state;
	seed = SEED;
	for (size_t bug = 1; bug < COMMITS; bug++)
		for (size_t again = 0; again < 20; again++) {
			struct history h = plain(COMMITS, bug);
			struct played p;

			h.rate = 0.25;
			p = play(&h);
			if (p.answer.kind == BISECT_NONE)
				continue; /* missed at the first commit already */
			wrong += p.oldest_failing != bug;
			said += p.answer.wrong;
			n++;
		}
	printf("# flaky: %zu of %zu answers are wrong; %.1f were announced\n", wrong, n, said);
	assert_true(said <= BISECT_WRONG * (double)n);
	assert_true((double)wrong <= 2 * said + 3);
}

static struct bisect_answer next_of(const char *row, double miss)
{
	struct bisect_commit v[COMMITS] = {{0}};

	for (size_t i = 0; row[i]; i++)
		v[i] = (struct bisect_commit){row[i] == 'F'   ? BISECT_FAILS
					      : row[i] == 'P' ? BISECT_PASSES
					      : row[i] == 'O' ? BISECT_OTHER
					      : row[i] == 'A' ? BISECT_ABSENT
					      : row[i] == 'S' ? BISECT_SKIPPED
							      : BISECT_UNTESTED,
					      miss};
	return bisect_next(v, strlen(row));
}

static void test_rows(void **state)
{
	static const struct {
		const char *row;
		enum bisect_kind kind;
		size_t last, first;
		bool open;
	} t[] = {
	    {".", BISECT_UNKNOWN, 0, 0, true},	 {"F", BISECT_ALL, 0, 1, false},
	    {"P", BISECT_NONE, 0, 0, false},	 {"S", BISECT_UNKNOWN, 0, 0, false},
	    {"O", BISECT_UNKNOWN, 0, 0, false},	 {"A", BISECT_UNKNOWN, 0, 0, false},
	    {"FP", BISECT_COMMIT, 0, 1, false},	 {"F.", BISECT_ALL, 0, 2, true},
	    {"F..P", BISECT_RANGE, 0, 3, true},	 {"FA", BISECT_ADDED, 0, 1, false},
	    {"FSP", BISECT_RANGE, 0, 2, false},	 {"FSSSOP", BISECT_RANGE, 0, 5, false},
	    {"FSFS", BISECT_ALL, 2, 4, false},	 {"FFSA", BISECT_RANGE, 1, 3, false},
	    {"FPF", BISECT_COMMIT, 0, 1, false}, {"FFPFFFF", BISECT_COMMIT, 1, 2, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct bisect_answer a = next_of(t[i].row, 1e-4);

		if (a.kind != t[i].kind || a.last != t[i].last || a.first != t[i].first ||
		    a.open != t[i].open)
			fail_msg("%s: %s, %zu and %zu", t[i].row, bisect_kind_name(a.kind), a.last,
				 a.first);
	}
}

/* A pass that may be a miss is tried again, and is no end of the row while a failure is behind. */
static void test_doubtful_pass(void **state)
{
	struct bisect_answer a = next_of("FP.................", 0.04);

	(void)state;
	assert_true(a.open);
	assert_int_equal(a.next, 1);
	assert_true(a.again);
	a = next_of("FPF.P", 0.2);
	assert_true(a.open);
	assert_int_equal(a.next, 3);
	assert_false(a.again);
	a = next_of("P", 0.2);
	assert_true(a.open);
	assert_true(a.again);
}

/* A long row that cannot be built: a sample of it is tried, and the answer is the whole row. */
static void test_long_dark(void **state)
{
	struct history h = plain(COMMITS, 20);
	struct played p;

	(void)state;
	for (size_t i = 10; i < 150; i++)
		h.broken[i] = true;
	p = play(&h);
	assert_int_equal(p.answer.kind, BISECT_RANGE);
	assert_int_equal(p.oldest_failing, 150);
	assert_in_range(p.newest_other, 0, 9);
	assert_in_range(p.unbuilt, 3, 30);
	printf("# 140 of 200 are broken: %zu builds, and %zu that failed\n", p.builds, p.unbuilt);

	memset(h.broken, 1, 150);
	p = play(&h);
	assert_int_equal(p.answer.kind, BISECT_ALL);
	assert_int_equal(p.oldest_failing, 150);
	assert_in_range(p.unbuilt, 3, 30);
}

/* The rows that git(1) gives are bounded (runner/revision/tree.h); no step may take seconds. */
static void test_many_commits(void **state)
{
	enum { MANY = 100000, BUG = 77777 };
	struct bisect_commit *v = calloc(MANY, sizeof(*v));
	size_t steps = 0;
	struct bisect_answer a;

	(void)state;
	assert_non_null(v);
	while ((a = bisect_next(v, MANY)).open) {
		bool odd = a.next % 7 == 3;

		v[a.next].outcome = odd		   ? BISECT_SKIPPED
				    : a.next < BUG ? BISECT_FAILS
						   : BISECT_PASSES;
		v[a.next].miss = 1e-6;
		steps++;
	}
	assert_int_equal(a.kind, BISECT_COMMIT);
	assert_int_equal(a.first, BUG);
	assert_in_range(steps, 10, 40);
	free(v);
}

static void test_names(void **state)
{
	(void)state;
	for (enum bisect_outcome o = 0; o < BISECT_OUTCOME_COUNT; o++)
		assert_true(bisect_outcome_name(o)[0]);
	for (enum bisect_kind k = 0; k <= BISECT_UNKNOWN; k++)
		assert_true(bisect_kind_name(k)[0]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_edge),	  cmocka_unit_test(test_planted),
    cmocka_unit_test(test_flaky),	  cmocka_unit_test(test_rows),
    cmocka_unit_test(test_doubtful_pass), cmocka_unit_test(test_long_dark),
    cmocka_unit_test(test_many_commits),  cmocka_unit_test(test_names),
};

UNIT_MAIN(tests)
