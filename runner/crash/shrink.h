/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_SHRINK_H
#define RUNNER_CRASH_SHRINK_H

#include "base/err.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes an input smaller while it keeps what somebody else judges (that it still
 * fails in the same way).  Pure and deterministic: it proposes candidates and is told of each
 * whether it was accepted.
 *
 *	shrink_init(&s, input, tries, &e);
 *	while (shrink_next(&s, &candidate))
 *		shrink_tell(&s, still_fails(candidate));
 *	... shrink_best(&s) ...
 *	shrink_done(&s);
 *
 * In this order: nothing at all; the tail and the head cut by halves; chunks of half of
 * the input, a quarter, ... one byte left out; bytes replaced by a simple one (a space,
 * else '0'), first many at once.  Every candidate is shorter than the best so far, or as long and
 * simpler, so that it ends.  When it ended by itself (shrink_complete()), no single
 * byte can be left out or made simpler: the result is 1-minimal. */

enum { SHRINK_SEEN = 4096 }; /* refused candidates that are remembered */

struct shrink {
	/* Read these; all else is the module's own. */
	unsigned tries;	   /* candidates proposed */
	unsigned accepted; /* ... and taken */

	unsigned max_tries;
	unsigned skips;
	uint8_t phase;
	bool asked;   /* a candidate waits for its answer */
	bool changed; /* in this round */
	bool over;
	char *best;
	char *try;
	size_t n, n_try;
	size_t at, chunk;
	uint64_t seen[SHRINK_SEEN];
};

/* Copies input; costs twice its size.  -ENOMEM. */
MUST_CHECK int shrink_init(struct shrink *s, struct slice input, unsigned max_tries, struct err *e);
void shrink_done(struct shrink *s); /* frees; also after a failed or no init of a zeroed s */

/* False: nothing more to try, or max_tries used up.  The candidate lives until the
 * next call.  Asking again without an answer counts as a refusal. */
bool shrink_next(struct shrink *s, struct slice *candidate);
void shrink_tell(struct shrink *s, bool accepted);

struct slice shrink_best(const struct shrink *s); /* lives until the next shrink_tell() */
bool shrink_complete(const struct shrink *s);	  /* 1-minimal, not out of tries */

#endif
