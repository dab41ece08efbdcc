/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_GENERATION_CARRY_H
#define RUNNER_CORPUS_GENERATION_CARRY_H

#include "runner/corpus/generation/generation.h"

#include <sys/types.h>
#include <time.h>

/* Functions that an exchange and the recovery of a killed exchange share. */

#define GENERATION_NEXT	   "next"
#define GENERATION_PENDING "pending"
#define GENERATION_TRASH   "trash" /* being removed */
enum { GENERATION_MODE = 0755 };

/* Selects the files of a retired corpus that the remaining corpus must get. */
enum carry_rule {
	CARRY_UNKNOWN, /* files that were not candidates: `known` lists the candidates */
	CARRY_LATE,    /* after a kill: files that came or changed since `since` */
	CARRY_ABSENT,  /* files that exist nowhere else under their name */
};
struct carry {
	const struct generation *g;
	int from, to; /* directories */
	enum carry_rule rule;
	const struct candidates *known;
	struct timespec since;
	bool inputs_only; /* only link inputs; `from` stays unchanged */
	uint64_t carried;
};
/* Links inputs under their content's name.  Other entries (directories, dot files, links) are moved
 * unchanged. */
MUST_CHECK int generation_carry(struct carry *c, struct err *e);

/* Retires the replaced corpus in `next`: makes it a numbered generation, or removes it (keep 0).
 * Then removes all but the last `keep` generations, and `pending`. */
MUST_CHECK int generation_retire(const struct generation *g, unsigned keep, uint64_t *ret_number,
				 struct err *e);

/* Whether a file of this name and size is in a numbered generation. */
MUST_CHECK int generation_was_kept(const struct generation *g, const char *name, uint64_t size,
				   struct err *e);

/* Removes dir/name, if it exists, by a rename first: a kill leaves no half-removed directory under
 * that name. */
MUST_CHECK int generation_trash(int dir, const char *name, struct err *e);

/* Removes a name, and syncs.  A missing name is no error. */
MUST_CHECK int generation_forget(int dir, const char *name, struct err *e);

#endif
