/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_MINIMISE_MINIMISE_H
#define RUNNER_CRASH_MINIMISE_MINIMISE_H

#include "base/err.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes an input smaller while it keeps what somebody else judges (that it still fails
 * in the same way).  Pure and deterministic: it proposes candidates and is told of each
 * whether it was accepted.
 *
 *	r = shrink_init(&s, input, max_tries, &e);
 *	while (shrink_next(&s, &candidate))
 *		shrink_tell(&s, still_fails(candidate));
 *	... shrink_best(&s) ...
 *	shrink_done(&s);
 *
 * In this order: nothing at all; tail and head cut by halves; large parts replaced by spaces; large
 * parts left out (delta debugging); items left out of what a length, a count or an offset of two or
 * four bytes says; smaller parts and single bytes left out; the same as before for numbers of one
 * byte; bytes replaced by a space, first many at once, else by '0'.  A cut with a number begins
 * anew with tail and head.
 *
 * Every candidate is shorter than the best so far, or as long and simpler, so it ends.  What was
 * refused is not proposed again (up to SHRINK_SEEN candidates are remembered).  When it ends by
 * itself (shrink_complete()) no single byte can be left out or made simpler: the result is
 * 1-minimal.
 *
 * A try costs time linear in the input's size; memory is twice that. */

enum { SHRINK_SEEN = 4096, SHRINK_KNOWN = 16 };

/* A number in an input that says how many items of `unit` bytes follow it, or (absolute) at which
 * byte what follows ends. */
struct shrink_field {
	size_t at;
	uint8_t width, unit;
	bool big; /* the first byte counts most */
	bool absolute;
};

struct shrink {
	unsigned tries;	   /* candidates proposed so far */
	unsigned accepted; /* and taken */

	/* The module's own. */
	unsigned max_tries, skips;
	unsigned phase;
	bool asked;   /* a candidate waits for its answer */
	bool changed; /* something was accepted in this round */
	bool again;   /* this is not the first round */
	char *best;   /* n bytes */
	char *next;   /* the candidate, n_next bytes */
	size_t n, n_next;
	size_t chunk, at; /* the candidate's change ends before byte at */
	size_t refused;	  /* since the phase began or something was accepted */
	struct {
		struct shrink_field now; /* in work */
		unsigned form, forms, tries, chances;
		bool is_true;				 /* a cut with it was accepted */
		size_t chunk, end;			 /* items */
		size_t from, to;			 /* the candidate's cut */
		struct shrink_field known[SHRINK_KNOWN]; /* true ones */
		size_t n_known;
		size_t n_chain; /* of the candidate, behind the known ones */
		bool any;	/* something was accepted */
	} fields;
	uint64_t hash;
	uint64_t seen[SHRINK_SEEN];
};

/* Copies input; shrink_done() it. */
MUST_CHECK int shrink_init(struct shrink *s, struct slice input, unsigned max_tries, struct err *e);
void shrink_done(struct shrink *s);

/* False: nothing more to try, or max_tries used up.  The candidate lives until the next
 * call.  Not telling counts as a refusal. */
bool shrink_next(struct shrink *s, struct slice *candidate);
void shrink_tell(struct shrink *s, bool accepted);

struct slice shrink_best(const struct shrink *s); /* lives until the next shrink_tell() */
bool shrink_complete(const struct shrink *s);	  /* ended by itself */

#endif
