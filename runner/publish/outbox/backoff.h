/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_OUTBOX_BACKOFF_H
#define RUNNER_PUBLISH_OUTBOX_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* When a delivery is tried again.  Pure; all times in seconds. */

enum {
	BACKOFF_FIRST_WAIT = 60,
	BACKOFF_DAY = 86400, /* between two attempts of a refused entry; the longest wait that a
			      * server can ask for */
};

/* A pseudorandom number in [0, n); advances the seed.  n 0 gives 0. */
uint64_t backoff_jitter(uint64_t *seed, uint64_t n);

/* How long to wait after failed attempt number `tries` (1 is the first).  The backoff doubles
 * from a minute to `most`, less up to a quarter as jitter, so that retries spread out.  If the
 * server asked for a wait, that wait and a little more apply, but no longer than a day. */
uint64_t backoff_wait(uint64_t tries, uint64_t wish, uint64_t most, uint64_t *seed);

/* Is an attempt due?  If the clock is before the last attempt, it was set back.  Then next_try
 * means nothing, and the attempt is due. */
bool backoff_is_due(uint64_t now, uint64_t last_try, uint64_t next_try);

#endif
