/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_MINIMISE_MINIMISE_H
#define RUNNER_CRASH_MINIMISE_MINIMISE_H

#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* Minimises an input while it keeps a property that the caller judges (it still fails in the same
 * way).  Pure and deterministic: it proposes candidates, and the caller accepts or refuses each.
 *
 *	minimise_init(&s, input, max_tries);
 *	while (minimise_next(&s, &candidate))
 *		minimise_judge(&s, still_fails(candidate));
 *	... minimise_best(&s) ...
 *	minimise_done(&s);
 *
 * The order of the candidates:
 *  - the empty input;
 *  - tail and head cut by halves;
 *  - large parts replaced by spaces;
 *  - large parts left out (delta debugging);
 *  - items left out, together with a smaller length, count or offset of two or four bytes;
 *  - smaller parts and single bytes left out;
 *  - items left out, with numbers of one byte;
 *  - bytes replaced by a space, many at once at first, or by '0'.
 * An accepted cut with a number restarts at tail and head.
 *
 * Every candidate is shorter than the best so far, or as long and simpler, so the search ends.  A
 * refused candidate is not proposed again (up to MINIMISE_SEEN are remembered).  When the search
 * ends by itself (minimise_complete()), no single byte can be left out or made simpler: the result
 * is 1-minimal.
 *
 * A candidate costs time linear in the input's size; memory is twice that size. */

enum { MINIMISE_SEEN = 4096, MINIMISE_KNOWN = 16 };

/* A number in an input: how many items of `unit` bytes follow it, or (absolute) at which byte the
 * data behind it ends. */
struct minimise_field {
	size_t at;
	uint8_t width, unit;
	bool big; /* big-endian */
	bool absolute;
};

struct minimise {
	unsigned tries;	   /* candidates proposed so far */
	unsigned accepted; /* candidates accepted */

	/* Private. */
	unsigned max_tries, skips;
	unsigned phase;
	bool asked;   /* a candidate waits for minimise_judge() */
	bool changed; /* something was accepted in this round */
	bool again;   /* this is not the first round */
	char *best;   /* n bytes */
	char *next;   /* the candidate, n_next bytes */
	size_t n, n_next;
	size_t chunk, at; /* the candidate's change ends before byte at */
	size_t refused;	  /* refusals since the phase began or the last acceptance */
	struct {
		struct minimise_field now; /* the current number */
		unsigned form, forms, tries, chances;
		bool is_true;				     /* a cut with it was accepted */
		size_t chunk, end;			     /* items */
		size_t from, to;			     /* the candidate's cut */
		struct minimise_field known[MINIMISE_KNOWN]; /* true ones */
		size_t n_known;
		size_t n_chain; /* numbers of the candidate's chain, behind the known ones */
		bool any;	/* something was accepted */
	} fields;
	uint64_t hash;
	uint64_t seen[MINIMISE_SEEN];
};

/* Copies input; minimise_done() it. */
void minimise_init(struct minimise *s, struct slice input, unsigned max_tries);
void minimise_done(struct minimise *s);

/* False: nothing is left to try, or max_tries is used up.  The candidate is valid until the next
 * call.  A candidate without a minimise_judge() counts as refused. */
bool minimise_next(struct minimise *s, struct slice *candidate);
void minimise_judge(struct minimise *s, bool accepted);

struct slice minimise_best(const struct minimise *s); /* valid until the next minimise_judge() */
bool minimise_complete(const struct minimise *s);     /* ended by itself */

#endif
