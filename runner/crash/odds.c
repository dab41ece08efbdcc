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

	_Static_assert(sizeof(names) / sizeof(names[0]) == ODDS_VERDICT_, "name every verdict");
	return v < ODDS_VERDICT_ ? names[v] : "";
}

/* The chance of exactly k of n at rate p, in (0, 1).  Its factors come in an order
 * that keeps the product near 1: it underflows only when the chance itself does. */
static double chance(unsigned n, unsigned k, double p)
{
	unsigned i = 0, misses = n - k;
	double c = 1;

	while (i < k || misses > 0) {
		if (i < k && (c < 1 || misses == 0)) {
			i++;
			c *= (double)(n - k + i) / (double)i * p;
		} else {
			misses--;
			c *= 1 - p;
		}
	}
	return c;
}

/* The chance of k or more of n at rate p.  Summed from k away from the mode, so that
 * the first term is the largest. */
static double chance_or_more(unsigned n, unsigned k, double p)
{
	bool up = (double)k >= (double)n * p;
	double sum = 0, c;

	if (up) {
		c = chance(n, k, p);
		for (unsigned i = k; i <= n; i++) {
			sum += c;
			c *= (double)(n - i) / (double)(i + 1) * p / (1 - p);
		}
		return sum;
	}
	c = chance(n, k - 1, p);
	for (unsigned i = k - 1;; i--) {
		sum += c;
		if (i == 0)
			return 1 - sum;
		c *= (double)i / (double)(n - i + 1) * (1 - p) / p;
	}
}

double odds_lower(uint64_t tries, uint64_t hits)
{
	double low = 0, high = 1;

	if (hits > tries)
		hits = tries;
	if (tries > ODDS_EXACT_MAX) { /* the product overflows for no share that matters */
		hits = (uint64_t)((double)hits / (double)tries * ODDS_EXACT_MAX);
		tries = ODDS_EXACT_MAX;
	}
	if (hits == 0)
		return 0;
	/* The chance grows with the rate: the bound is where it reaches the error. */
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
