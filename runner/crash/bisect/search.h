/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_BISECT_SEARCH_H
#define RUNNER_CRASH_BISECT_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the commit with which a failure began, or ended, from tests of single commits.  Pure.
 *
 * The commits stand in a row.  Commit 0 is the one where the failure is known.  The search looks
 *for the edge: commits before it fail, commits from it on do not. where did it begin?	commit 0 is
 *the newest, the last one the oldest where did it end?	commit 0 is an old one, the last one the
 *newest
 *
 * The chance that the edge is at commit i is taken as 1/i before the first test, and one eighth
 *that there is no edge: failures are found soon, so most edges are near.  The next test is where it
 * teaches most.  So the first steps grow about exponentially, and the rest is a binary search.
 *
 * A commit that cannot be tested says nothing about the failure, but its neighbours likely cannot
 *be tested either: the search moves away from it, by as much as already could not be tested in a
 *row. The same holds for a commit where the input fails in another way, which hides the failure.
 *
 * A failure is proved by one test.  A pass is not: a flaky failure may be missed.  Each pass has
 *the chance of a miss, and the answer has the chance that it is wrong because of them. */

enum bisect_outcome {
	BISECT_UNTESTED,
	BISECT_FAILS,
	BISECT_PASSES,
	BISECT_OTHER,	/* the input fails in another way */
	BISECT_ABSENT,	/* the build has no such target */
	BISECT_SKIPPED, /* not built, or the target did not start */
	BISECT_OUTCOME_COUNT,
};
const char *bisect_outcome_name(enum bisect_outcome o); /* "fails", "passes", ... */

struct bisect_commit {
	enum bisect_outcome outcome;
	double miss; /* BISECT_PASSES: the chance that so many tries pass if the commit fails */
};

enum bisect_kind {
	BISECT_COMMIT,	/* the commit `last` fails, its neighbour `first` does not */
	BISECT_RANGE,	/* the edge is behind `last`, at `first` or before it */
	BISECT_ADDED,	/* the commit `last` fails, and at its neighbour there is no such target */
	BISECT_ALL,	/* fails up to the end of the row, or as far as it can be tested */
	BISECT_NONE,	/* commit 0 does not fail */
	BISECT_UNKNOWN, /* commit 0 could not be tested, or fails in another way */
};
const char *bisect_kind_name(enum bisect_kind k); /* "commit", "range", ... */

struct bisect_answer {
	bool open;	       /* another test tells more: that of the commit `next` */
	bool again;	       /* `next` passed, but too few times */
	size_t next;	       /* only if open */
	enum bisect_kind kind; /* with the tests until now */
	size_t last;	       /* the last commit that fails */
	size_t first; /* the first commit behind it that does not; the length of the row: none */
	size_t skipped, other, untested; /* commits between last and first */
	double wrong;			 /* the chance that a pass misled */
};

/* The greatest chance of a wrong answer that is accepted. */
#define BISECT_WRONG 0.01

/* v: the outcomes of n commits, at least 1. */
struct bisect_answer bisect_next(const struct bisect_commit *v, size_t n);

#endif
