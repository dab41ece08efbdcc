/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_GROWTH_H
#define RUNNER_TRIGGER_GROWTH_H

#include "base/git.h"

#include <stdint.h>

/* The space that a commit's files need in a work tree.  A few small objects can name billions of
 * files, if each tree contains the same tree ten times.  git would write all of these files, and
 * keep their names in memory. */
struct growth {
	uint64_t files; /* includes directories */
	uint64_t bytes; /* rounded up to blocks */
	uint64_t names; /* bytes of the index that git keeps in memory */
};

/* Checks how much more space commit `to` needs than commit `from`.  The limits are an eighth of the
 * free space of the work tree's file system, and of the machine's memory. (.gitattributes can
 * make files four times as large.)  0: it fits.  1: it does not fit; *ret_more is the minimum of
 * the additional space. */
MUST_CHECK int growth_check(const struct git *g, const char *from, const char *to,
			    struct growth *ret_more, struct err *e);

/* Like growth_check(), with the caller's limits. */
MUST_CHECK int growth_measure(const struct git *g, const char *from, const char *to,
			      const struct growth *limit, struct growth *ret_more, struct err *e);

#endif
