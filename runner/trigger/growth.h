/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_GROWTH_H
#define RUNNER_TRIGGER_GROWTH_H

#include "base/git.h"

#include <stdint.h>

/* The room that a commit's files take in a work tree.  A few small objects can name billions of
 * files, when each tree has the same tree ten times. git would write all of them, and keep their
 * names in memory. */
struct growth {
	uint64_t files; /* directories, too */
	uint64_t bytes; /* in blocks */
	uint64_t names; /* bytes of the index that git keeps in memory */
};

/* Checks how much more commit `to` takes than commit `from`.  The limits are an eighth of the
 * free space of the work tree's file system, and of the machine's memory. (.gitattributes can
 * make files four times as large.) 0: it fits.  1: it does not; *ret_more says how much more it
 * is, at least. */
MUST_CHECK int growth_check(const struct git *g, const char *from, const char *to,
			    struct growth *ret_more, struct err *e);

/* Does the same as growth_check(), with limits of the caller's. */
MUST_CHECK int growth_measure(const struct git *g, const char *from, const char *to,
			      const struct growth *limit, struct growth *ret_more, struct err *e);

#endif
