/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_BISECT_WORDS_H
#define RUNNER_CRASH_BISECT_WORDS_H

#include "runner/crash/bisect/search.h"

/* The answer of a search in one sentence, for users.  Pure. */

enum { BISECT_SENTENCE = 900 };

struct bisect_words {
	const char *last, *first; /* names of the two commits; first NULL: there is none */
	bool fix;		  /* it was searched where the failure ended */
	bool bounded;		  /* the row ends at a commit that a user named, or at the newest */
	bool any;		  /* any failure of the inputs counts, not only the crash */
	const char *why;	  /* BISECT_UNKNOWN: what is wrong with the first commit */
};

/* Appends the sentence to out. */
void bisect_describe(const struct bisect_answer *a, const struct bisect_words *w,
		     char out[BISECT_SENTENCE]);

#endif
