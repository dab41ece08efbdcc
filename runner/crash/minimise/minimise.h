/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_MINIMISE_MINIMISE_H
#define RUNNER_CRASH_MINIMISE_MINIMISE_H

#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* Minimises an input while it keeps a property that the caller judges (it still fails in the same
 * way).  Pure and deterministic: it proposes candidates, and the caller accepts or refuses each.
 *
 *	shrink_init(&s, input, max_tries);
 *	while (shrink_next(&s, &candidate))
 *		shrink_tell(&s, still_fails(candidate));
 *	... shrink_best(&s) ...
 *	shrink_done(&s);
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
 * refused candidate is not proposed again (up to SHRINK_SEEN are remembered).  When the search ends
 * by itself (shrink_complete()), no single byte can be left out or made simpler: the result is
 * 1-minimal.
 *
 * A candidate costs time linear in the input's size; memory is twice that size. */

enum { SHRINK_SEEN = 4096, SHRINK_KNOWN = 16 };

/* A number in an input: how many items of `unit` bytes follow it, or (absolute) at which byte the
 * data behind it ends. */
struct shrink_field {
	size_t at;
	uint8_t width, unit;
	bool big; /* big-endian */
	bool absolute;
};

struct shrink {
	unsigned tries;	   /* candidates proposed so far */
	unsigned accepted; /* candidates accepted */

	/* Private. */
	unsigned max_tries, skips;
	unsigned phase;
	bool asked;   /* a candidate waits for shrink_tell() */
	bool changed; /* something was accepted in this round */
	bool again;   /* this is not the first round */
	char *best;   /* n bytes */
	char *next;   /* the candidate, n_next bytes */
	size_t n, n_next;
	size_t chunk, at; /* the candidate's change ends before byte at */
	size_t refused;	  /* refusals since the phase began or the last acceptance */
	struct {
		struct shrink_field now; /* the current number */
		unsigned form, forms, tries, chances;
		bool is_true;				 /* a cut with it was accepted */
		size_t chunk, end;			 /* items */
		size_t from, to;			 /* the candidate's cut */
		struct shrink_field known[SHRINK_KNOWN]; /* true ones */
		size_t n_known;
		size_t n_chain; /* numbers of the candidate's chain, behind the known ones */
		bool any;	/* something was accepted */
	} fields;
	uint64_t hash;
	uint64_t seen[SHRINK_SEEN];
};

/* Copies input; shrink_done() it. */
void shrink_init(struct shrink *s, struct slice input, unsigned max_tries);
void shrink_done(struct shrink *s);

/* False: nothing is left to try, or max_tries is used up.  The candidate is valid until the next
 * call.  A candidate without a shrink_tell() counts as refused. */
bool shrink_next(struct shrink *s, struct slice *candidate);
void shrink_tell(struct shrink *s, bool accepted);

struct slice shrink_best(const struct shrink *s); /* valid until the next shrink_tell() */
bool shrink_complete(const struct shrink *s);	  /* ended by itself */

#endif
