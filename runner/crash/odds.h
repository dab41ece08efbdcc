/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_ODDS_H
#define RUNNER_CRASH_ODDS_H

#include <stdint.h>

/* What a few tries of an input say about it.  Pure arithmetic.  hits is how many of
 * tries failed in the way in question; more hits than tries count as all.
 *
 * 1. Does an input reproduce its crash?
 *
 * It is tried up to ODDS_TRIES_MAX times; whoever tries asks after each.  It
 *   reproduces  after 3 hits in the first 3 tries, or 5 hits;
 *   is flaky    when it has hits, but 5 in 10 tries are out of reach (6 misses);
 *   does not    when it has none and 5 in 10 are out of reach (6 misses).
 * A reliable input costs 3 tries, one that never fails 6, the worst (a rate of 0.4) 8.1
 * in the mean.  What an input is called that fails with rate
 *              0.9       0.7    0.5    0.3    0.1
 *   reproduces 99.99 %   95 %   63 %   16 %   0.2 %
 *   flaky      0.01 %    5 %    35 %   72 %   47 %
 *   does not   -         0.1 %  2 %    12 %   53 %
 * So "does not reproduce" never means that a crash is gone: that is rule 2.  More than
 * ODDS_TRIES_MAX tries (of several runs) are judged by their share, half or more
 * reproduces. */
enum { ODDS_TRIES_MAX = 10 };

enum odds_verdict {
	ODDS_UNDECIDED, /* try again */
	ODDS_REPRODUCES,
	ODDS_FLAKY,
	ODDS_NOT,
	ODDS_VERDICT_COUNT,
};
enum odds_verdict odds_reproduce(uint64_t tries, uint64_t hits);
const char *odds_verdict_name(enum odds_verdict v); /* "undecided", "reproduces", ... */

/* 2. Is a crash fixed?
 *
 * An input that failed hits times of tries must pass odds_passes() times on the new
 * build, without a hit between, before its crash may be called fixed; so must the
 * minimised input, as often.  With p the one-sided 95 % lower confidence bound of the
 * rate at which it fails (Clopper-Pearson, odds_lower()) that is the least n, but
 * ODDS_PASSES_MIN, with (1-p)^n <= 1 %: when it still fails at the bound's rate or
 * above, the chance to see only passes is 1 % at most for each input.
 *   3 of 3: 11    10 of 10: 4    5 of 10: 19    4 of 10: 29    3 of 9: 45    2 of 8: 97
 * The bound is above the rate in 5 % of cases (rule 1 stops early: in up to 7.3 %).
 * That is in the sum over all outcomes of rule 1: a crash that is measured by it, is
 * not fixed, and is called fixed by its original input alone, has a chance of 0.17 % at
 * most, whatever its rate.
 *
 * 0: more than ODDS_PASSES_MAX passes, which is too dear (as 1 of 7: 628), or no hit at
 * all, which no number of passes can tell from fixed.  Such a crash stays open until a
 * person says otherwise. */
enum { ODDS_PASSES_MIN = 3, ODDS_PASSES_MAX = 300 };
unsigned odds_passes(uint64_t tries, uint64_t hits);

/* The bound, in [0, 1), at most 1e-12 below its exact value; 0 without a hit.  Above
 * ODDS_EXACT_MAX tries it is that of ODDS_EXACT_MAX with the same share, rounded down,
 * which is lower. */
enum { ODDS_EXACT_MAX = 1000 };
double odds_lower(uint64_t tries, uint64_t hits);

#endif
