/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_GENERATION_EXCHANGE_H
#define RUNNER_CORPUS_GENERATION_EXCHANGE_H

#include "runner/corpus/generation/generation.h"

#include <sys/types.h>
#include <time.h>

/* Parts of generation.h that an exchange and the recovery of a killed one share. */

#define GENERATION_NEXT	   "next"
#define GENERATION_PENDING "pending"
#define GENERATION_TRASH   "trash" /* is being removed */
enum { GENERATION_MODE = 0755 };

/* Which files of a corpus that goes must be in the one that stays. */
enum carry_rule {
	CARRY_UNKNOWN, /* those that were no candidates: `known` is what was */
	CARRY_LATE,    /* after a kill: those that came or changed since `since` */
	CARRY_ABSENT,  /* those that are nowhere else under their name */
};
struct carry {
	const struct generation *g;
	int from, to; /* directories */
	enum carry_rule rule;
	const struct candidates *known;
	struct timespec since;
	bool inputs_only; /* links only, and `from` stays as it is */
	uint64_t carried;
};
/* Inputs are linked under their content's name.  Anything else that is no input
 * (directories, dot files, links) moves as it is. */
MUST_CHECK int exchange_carry(struct carry *c, struct err *e);

/* The corpus that was replaced is in `next`: it becomes a numbered generation, or
 * goes (keep 0); then those before the last `keep` go, and `pending` goes. */
MUST_CHECK int exchange_retire(const struct generation *g, unsigned keep, uint64_t *ret_number,
			       struct err *e);

/* Whether a file of this name and size is in a numbered generation. */
MUST_CHECK int exchange_was_kept(const struct generation *g, const char *name, uint64_t size,
				 struct err *e);

/* Removes dir/name if it is there, in two steps that a kill cannot confuse. */
MUST_CHECK int exchange_trash(int dir, const char *name, struct err *e);

/* Removes a name, on disk too; that it is not there is fine. */
MUST_CHECK int exchange_forget(int dir, const char *name, struct err *e);

#endif
