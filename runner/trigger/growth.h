/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_GROWTH_H
#define RUNNER_TRIGGER_GROWTH_H

#include "runner/corpus/git.h"

#include <stdint.h>

/* What a commit's files take when they are checked out.  A few small objects can name billions
 * of files (each tree has the same tree ten times, and so on): git would write them all, and
 * keep their names in memory. */
struct growth {
	uint64_t files; /* directories, too */
	uint64_t bytes; /* in blocks */
	uint64_t names; /* bytes of the index that git keeps in memory */
};

/* How much more `to` may take than `from`, both commits: an eighth of what the work tree's file
 * system has free (.gitattributes can make files four times as large), and of the machine's
 * memory.  0: it fits.  1: it does not, *ret_more says how much more it would be, at least. */
MUST_CHECK int growth_check(const struct git *g, const char *from, const char *to,
			    struct growth *ret_more, struct err *e);

/* What growth_check() does, with limits of the caller's. */
MUST_CHECK int growth_measure(const struct git *g, const char *from, const char *to,
			      const struct growth *limit, struct growth *ret_more, struct err *e);

#endif
