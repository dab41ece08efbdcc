/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_ODDS_H
#define RUNNER_CRASH_ODDS_H

#include <stdint.h>

/* Judges the replays of an input.  Pure arithmetic.  `tries` is the number of replays; `hits` of
 * them failed in the way in question.  If hits > tries, all replays count as hits.
 *
 * 1. Does an input reproduce its crash?
 *
 * It is replayed up to ODDS_TRIES_MAX times.  The caller asks after each replay.  The input
 *   reproduces  after 3 hits in the first 3 replays, or 5 hits;
 *   is flaky    when it has hits, but 5 in 10 replays are out of reach (6 misses);
 *   does not    when it has none and 5 in 10 are out of reach (6 misses).
 * A reliable input costs 3 replays, an input that never fails costs 6.  The worst rate (0.4) costs
 * 8.1 on average.  The verdict for an input that fails with rate
 *              0.9       0.7    0.5    0.3    0.1
 *   reproduces 99.99 %   95 %   63 %   16 %   0.2 %
 *   flaky      0.01 %    5 %    35 %   72 %   47 %
 *   does not   -         0.1 %  2 %    12 %   53 %
 * The ledger calls both "is flaky" and "does not" flaky.  So "does not reproduce" never means that
 * a crash is fixed: rule 2 decides that.  More than ODDS_TRIES_MAX replays (of several runs) are
 * judged by their share: half or more reproduces. */
enum { ODDS_TRIES_MAX = 10 };

enum odds_verdict {
	ODDS_UNDECIDED, /* replay again */
	ODDS_REPRODUCES,
	ODDS_FLAKY,
	ODDS_NOT,
	ODDS_VERDICT_COUNT,
};
enum odds_verdict odds_reproduce(uint64_t tries, uint64_t hits);
const char *odds_verdict_name(enum odds_verdict v); /* "undecided", "reproduces", ... */

/* 2. Is a crash fixed?
 *
 * An input failed `hits` times of `tries`.  Before its crash may be called fixed, the input must
 * pass odds_passes() times in a row on the new build.  The minimised input must pass as often.  Let
 * p be the one-sided 95 % lower confidence bound of the failure rate (Clopper-Pearson,
 * odds_lower()).  odds_passes() is the least n with (1-p)^n <= 1 %, and at least ODDS_PASSES_MIN.
 * If the input still fails at rate p or above, the chance of n passes is at most 1 % for each
 * input.
 *   3 of 3: 11    10 of 10: 4    5 of 10: 19    4 of 10: 29    3 of 9: 45    2 of 8: 97
 * The bound is above the true rate in 5 % of cases; in up to 7.3 %, because rule 1 stops early.
 * This concerns crashes that are not fixed and are judged by their original input alone.  Summed
 * over all outcomes of rule 1, such a crash is called fixed with a chance of at most 0.17 %,
 * whatever its rate.
 *
 * odds_passes() is 0 in two cases: more than ODDS_PASSES_MAX passes are necessary, which costs too
 * much (1 of 7: 628), or there is no hit.  No number of passes distinguishes an input without a hit
 * from a fixed one.  Such a crash stays open until a user decides. */
enum { ODDS_PASSES_MIN = 3, ODDS_PASSES_MAX = 300 };
unsigned odds_passes(uint64_t tries, uint64_t hits);

/* The bound, in [0, 1), at most 1e-12 below its exact value; 0 without a hit.  Above ODDS_EXACT_MAX
 * tries, the result is the lower bound for ODDS_EXACT_MAX tries with the same share of hits,
 * rounded down. */
enum { ODDS_EXACT_MAX = 1000 };
double odds_lower(uint64_t tries, uint64_t hits);

#endif
