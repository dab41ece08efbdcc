/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_OUTBOX_POLICY_H
#define RUNNER_PUBLISH_OUTBOX_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* When something is tried again.  Pure; all in seconds. */

enum {
	POLICY_FIRST_WAIT = 60,
	POLICY_DAY = 86400, /* between two tries of what was refused; the longest wish obeyed */
};

/* A number in [0, n) from a seed, which moves on; n 0 gives 0. */
uint64_t policy_jitter(uint64_t *seed, uint64_t n);

/* How long to wait after the tries-th try failed (1 is the first): doubling from a minute to
 * `most`, less up to a quarter of it, so that many do not come back together.  A
 * server's own wish is waited for, and a little more, but for no longer than a day. */
uint64_t policy_wait(uint64_t tries, uint64_t wish, uint64_t most, uint64_t *seed);

/* Whether the time has come.  A clock that stands before the last try has been set back:
 * what it says of the next one means nothing. */
bool policy_due(uint64_t now, uint64_t last_try, uint64_t next_try);

#endif
