/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/odds.h"

#include <stdbool.h>

enum { SURE = 3, ENOUGH = 5, BISECTIONS = 45 };

static const double BOUND_ERROR = 0.05, FIX_ERROR = 0.01;

enum odds_verdict odds_reproduce(uint64_t tries, uint64_t hits)
{
	if (hits > tries)
		hits = tries;
	if (tries > ODDS_TRIES_MAX && hits > 0)
		return hits >= tries - hits ? ODDS_REPRODUCES : ODDS_FLAKY;
	if (hits >= ENOUGH || (hits >= SURE && hits == tries))
		return ODDS_REPRODUCES;
	if (tries - hits > ODDS_TRIES_MAX - ENOUGH)
		return hits > 0 ? ODDS_FLAKY : ODDS_NOT;
	return ODDS_UNDECIDED;
}

const char *odds_verdict_name(enum odds_verdict v)
{
	static const char *const names[] = {
	    [ODDS_UNDECIDED] = "undecided",
	    [ODDS_REPRODUCES] = "reproduces",
	    [ODDS_FLAKY] = "flaky",
	    [ODDS_NOT] = "does not reproduce",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == ODDS_VERDICT_COUNT,
		       "name every verdict");
	return v < ODDS_VERDICT_COUNT ? names[v] : "";
}

/* The chance of k or more of n at rate p, in (0, 1), for k >= n * p: then the first term is the
 * largest.  No product overflows a double for n up to ODDS_EXACT_MAX (the largest is 1000 over 500,
 * 2.7e299).  A product that underflows is too small to matter. */
static double chance_or_more(unsigned n, unsigned k, double p)
{
	double sum = 0, c = 1;

	for (unsigned i = 1; i <= k; i++)
		c *= (double)(n - k + i) / (double)i * p;
	for (unsigned i = k; i < n; i++)
		c *= 1 - p;
	for (unsigned i = k; i <= n; i++) {
		sum += c;
		c *= (double)(n - i) / (double)(i + 1) * p / (1 - p);
	}
	return sum;
}

double odds_lower(uint64_t tries, uint64_t hits)
{
	double low = 0, high;

	if (hits > tries)
		hits = tries;
	if (tries > ODDS_EXACT_MAX) { /* the product does not overflow for any share that matters */
		hits = (uint64_t)((double)hits / (double)tries * ODDS_EXACT_MAX);
		tries = ODDS_EXACT_MAX;
	}
	if (hits == 0)
		return 0;
	/* The chance grows with the rate: the bound is the rate at which it reaches the error.  At
	 * the measured share it is greater: the chance that a binomial reaches its mean is at least
	 * 1/4. */
	high = (double)hits / (double)tries;
	for (unsigned i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (chance_or_more((unsigned)tries, (unsigned)hits, middle) <= BOUND_ERROR)
			low = middle;
		else
			high = middle;
	}
	return low;
}

unsigned odds_passes(uint64_t tries, uint64_t hits)
{
	double p = odds_lower(tries, hits), missed = 1;

	for (unsigned n = 1; n <= ODDS_PASSES_MAX; n++) {
		missed *= 1 - p;
		if (missed <= FIX_ERROR)
			return n < ODDS_PASSES_MIN ? ODDS_PASSES_MIN : n;
	}
	return 0;
}
