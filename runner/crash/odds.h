/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_ODDS_H
#define RUNNER_CRASH_ODDS_H

/* What a few tries of an input say about it.  Pure arithmetic. */

/* 1. Does an input reproduce its crash?
 *
 * It is tried up to ODDS_TRIES_MAX times; whoever tries asks after each.  It
 *   reproduces    after 3 hits of 3 tries, or 5 hits;
 *   is flaky      when it has hits, and 5 of 10 can not be reached any more;
 *   does not      when it has no hit in 6 tries: then 5 of 10 is out of reach.
 * So it ends after 3 tries of a reliable input and after 6 of one that never fails.
 * What an input that fails with rate p is called: p = 1 always reproduces; p = 0.9 in
 * 99.9 % of cases; p = 0.3 in 16 % (in 12 % it seems not to reproduce, else it is
 * flaky); p = 0 never.  More tries than ODDS_TRIES_MAX (measured over several runs) are judged by
 * their share: half or more reproduces. */
enum { ODDS_TRIES_MAX = 10 };

enum odds_verdict {
	ODDS_UNDECIDED, /* try again */
	ODDS_REPRODUCES,
	ODDS_FLAKY,
	ODDS_NOT,
	ODDS_VERDICT_,
};
enum odds_verdict odds_reproduce(unsigned tries, unsigned hits);
const char *odds_verdict_name(enum odds_verdict v); /* "reproduces", "flaky", ... */

/* 2. Is a crash fixed?
 *
 * An input that failed hits times of tries is passed by a new build.  How often must
 * it pass, in a row and with no hit, before the crash may be called fixed?  With p the one-sided
 * 95 % lower confidence bound of the rate at which it fails (Clopper-Pearson), as
 * often as makes (1-p)^passes <= 1 %.  So: 3 of 3 needs 11 passes, 10 of 10 needs 16... the
 * original and the minimised input need that many each. */
unsigned odds_passes(unsigned tries, unsigned hits);

/* The bound itself, in [0, 1): 0 without a hit. */
double odds_lower(unsigned tries, unsigned hits);

#endif
