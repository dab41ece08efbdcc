/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/bisect/search.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* A pass that misses a failure with a greater chance than this does not end the row: the tests
 * behind it count, too. */
static const double MISS_MAX = 0.05;
/* Before the first test: the chance that the failure is in every commit. */
static const double EVERYWHERE = 1.0 / 8;
/* A gap with commits that cannot be tested is the answer when no test is expected to tell more
 * bits.  So about five in a row are all tried, and of a longer row a few. */
static const double BITS_LEAST = 0.15;
/* A test for a second time costs no build.  Below this chance, more passes prove nothing more. */
static const double MISS_LEAST = 1e-9;

const char *bisect_outcome_name(enum bisect_outcome o)
{
	static const char *const names[] = {
	    [BISECT_UNTESTED] = "untested", [BISECT_FAILS] = "fails",
	    [BISECT_PASSES] = "passes",	    [BISECT_OTHER] = "fails in another way",
	    [BISECT_ABSENT] = "absent",	    [BISECT_SKIPPED] = "skipped",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == BISECT_OUTCOME_COUNT, "name each");
	return o < BISECT_OUTCOME_COUNT ? names[o] : "";
}

const char *bisect_kind_name(enum bisect_kind k)
{
	static const char *const names[] = {
	    [BISECT_COMMIT] = "commit", [BISECT_RANGE] = "range", [BISECT_ADDED] = "added",
	    [BISECT_ALL] = "all",	[BISECT_NONE] = "none",	  [BISECT_UNKNOWN] = "unknown",
	};

	return k <= BISECT_UNKNOWN ? names[k] : "";
}

/* --- the two ends of the gap ---------------------------------------------- */

/* Whether the commit surely does not fail. */
static bool ends_row(const struct bisect_commit *c)
{
	return c->outcome == BISECT_ABSENT || (c->outcome == BISECT_PASSES && c->miss <= MISS_MAX);
}

/* The last failing commit before the first that surely does not fail: a failure behind that
 * is an earlier episode of the same failure. */
static size_t last_failing(const struct bisect_commit *v, size_t n)
{
	size_t last = 0;

	for (size_t i = 0; i < n && !ends_row(&v[i]); i++)
		if (v[i].outcome == BISECT_FAILS)
			last = i;
	return last;
}

static size_t first_passing(const struct bisect_commit *v, size_t n, size_t last)
{
	size_t i = last + 1;

	while (i < n && v[i].outcome != BISECT_PASSES && v[i].outcome != BISECT_ABSENT)
		i++;
	return i;
}

/* --- chances -------------------------------------------------------------- */

/* The weight of an edge at commit i, from 1; n stands for no edge. */
static double weight(size_t i, size_t n)
{
	/* The weights of 1 to n - 1 are about log(n) in sum. */
	return i < n ? 1 / (double)i : EVERYWHERE / (1 - EVERYWHERE) * (log((double)n) + 0.58);
}

/* The chance that the edge is behind `first`, so that passes from there on missed the failure. Here
 * no edge is likelier than another before the tests: the answer must not rest on a guess. */
static double chance_wrong(const struct bisect_commit *v, size_t n, size_t last, size_t first)
{
	double behind = 0, missed = 1;

	for (size_t i = first; i < n; i++) {
		if (v[i].outcome == BISECT_PASSES)
			missed *= v[i].miss;
		else if (v[i].outcome == BISECT_ABSENT)
			missed = 0;
		behind += missed;
	}
	return behind / ((double)(first - last) + behind);
}

/* In bits; 0 without a doubt. */
static double doubt(double chance)
{
	if (chance <= 0 || chance >= 1)
		return 0;
	return -chance * log2(chance) - (1 - chance) * log2(1 - chance);
}

/* --- commits that cannot be tested ---------------------------------------- */

static bool is_dark(const struct bisect_commit *c)
{
	return c->outcome == BISECT_SKIPPED || c->outcome == BISECT_OTHER;
}

/* The nearest tested commit on one side. */
struct neighbour {
	bool dark;
	size_t at;
	size_t begins; /* dark: where the run of dark commits begins, without a lit one in it */
};

static void neighbour_pass(struct neighbour *s, const struct bisect_commit *c, size_t at)
{
	if (c->outcome != BISECT_UNTESTED)
		*s = (struct neighbour){is_dark(c), at, s->dark ? s->begins : at};
}

static double between(size_t a, size_t b)
{
	return a > b ? (double)(a - b) : (double)(b - a);
}

/* The chance that a commit at `at` can be tested, as far as a dark neighbour tells.  The run goes
 * on as far as it goes already, but ends before a lit commit on the other side. */
static double chance_beside(const struct neighbour *dark, const struct neighbour *other, size_t at)
{
	double away = between(at, dark->at), run = between(dark->at, dark->begins) + 1;

	if (!other->dark && between(at, other->at) < run)
		run = between(at, other->at);
	return away / (away + run);
}

static double chance_between(const struct neighbour *left, const struct neighbour *right, size_t at)
{
	double a = left->dark ? chance_beside(left, right, at) : 1;
	double b = right->dark ? chance_beside(right, left, at) : 1;

	return a < b ? a : b;
}

/* --- the next test -------------------------------------------------------- */

/* For each commit between last and first: the chance that it can be tested.  free() the result. */
static double *chances(const struct bisect_commit *v, size_t n, size_t last, size_t first)
{
	struct neighbour *left = xcalloc(first - last, sizeof(*left)); /* of last + i */
	double *chance = xcalloc(first - last, sizeof(*chance));
	/* Nothing is known behind the end of the row. */
	struct neighbour right = {.at = first < n ? first : SIZE_MAX};

	left[0].at = last;
	for (size_t i = last + 1; i < first; i++) {
		left[i - last] = left[i - last - 1];
		neighbour_pass(&left[i - last], &v[i], i);
	}
	for (size_t i = first; i-- > last + 1;) {
		chance[i - last] = chance_between(&left[i - last - 1], &right, i);
		neighbour_pass(&right, &v[i], i);
	}
	free(left);
	return chance;
}

struct choice {
	size_t at;
	double bits; /* what the test is expected to tell */
};

/* The most telling untested commit between last and first. */
static struct choice most_telling(const struct bisect_commit *v, size_t n, size_t last,
				  size_t first)
{
	_autofree_ double *chance = chances(v, n, last, first);
	struct choice best = {.at = first, .bits = -1};
	double in = 0, end = weight(first, n), behind;

	for (size_t i = last + 1; i < first; i++)
		in += weight(i, n);
	/* Else, far from commit 0, no test would tell how far the failure goes. */
	end = first == n && end > in ? in : end;
	behind = in + end;
	for (size_t i = last + 1; i < first; i++) {
		double bits;

		behind -= weight(i, n);
		bits = doubt(behind / (in + end)) * chance[i - last];
		if (v[i].outcome == BISECT_UNTESTED && bits > best.bits)
			best = (struct choice){i, bits};
	}
	return best;
}

static enum bisect_kind kind_of(const struct bisect_commit *v, size_t n,
				const struct bisect_answer *a)
{
	if (a->first == n)
		return BISECT_ALL;
	if (a->first > a->last + 1)
		return BISECT_RANGE;
	return v[a->first].outcome == BISECT_ABSENT ? BISECT_ADDED : BISECT_COMMIT;
}

static void count_gap(const struct bisect_commit *v, struct bisect_answer *a)
{
	for (size_t i = a->last + 1; i < a->first; i++) {
		a->skipped += v[i].outcome == BISECT_SKIPPED;
		a->other += v[i].outcome == BISECT_OTHER;
		a->untested += v[i].outcome == BISECT_UNTESTED;
	}
}

/* Commit 0 decides whether there is something to search. */
static bool begin(const struct bisect_commit *v, struct bisect_answer *a)
{
	enum bisect_outcome o = v[0].outcome;

	a->kind = o == BISECT_PASSES ? BISECT_NONE : BISECT_UNKNOWN;
	a->again = o == BISECT_PASSES && !ends_row(&v[0]);
	a->open = o == BISECT_UNTESTED || a->again;
	return o == BISECT_FAILS;
}

/* Whether a test of another commit tells more. */
static bool goes_on(const struct bisect_commit *v, size_t n, struct bisect_answer *io)
{
	size_t dark = io->last + 1;
	struct choice c;

	if (io->untested == 0)
		return false;
	c = most_telling(v, n, io->last, io->first);
	io->next = c.at;
	if (io->skipped + io->other == 0 || c.bits >= BITS_LEAST)
		return true;
	/* Without an edge, the answer is how far the failure can be followed. */
	while (dark < n && !is_dark(&v[dark]))
		dark++;
	if (io->first < n || dark == io->last + 1)
		return false;
	io->next = most_telling(v, n, io->last, dark).at;
	return true;
}

/* Whether the pass at the edge is to be tried more often. */
static bool is_doubtful(const struct bisect_commit *v, size_t n, struct bisect_answer *io)
{
	io->next = io->first;
	return io->first < n && v[io->first].outcome == BISECT_PASSES && io->wrong > BISECT_WRONG &&
	       v[io->first].miss > MISS_LEAST;
}

struct bisect_answer bisect_next(const struct bisect_commit *v, size_t n)
{
	struct bisect_answer a = {.next = 0};

	if (!begin(v, &a))
		return a;
	a.last = last_failing(v, n);
	a.first = first_passing(v, n, a.last);
	count_gap(v, &a);
	a.wrong = chance_wrong(v, n, a.last, a.first);
	a.kind = kind_of(v, n, &a);
	a.open = goes_on(v, n, &a);
	if (!a.open)
		a.open = a.again = is_doubtful(v, n, &a);
	return a;
}
