/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CORPUS_INTREE_H
#define TESTS_UNIT_CORPUS_INTREE_H

/* The merge's result before an update of an in-tree corpus, and the reports of the update.  Include
 * unit.h first. */
#include "runner/corpus/intree/intree.h"
#include "tests/unit/corpus/files.h"

static char reported[512]; /* one line per report */

static inline void on_name(void *arg, enum intree_what what, const char *name)
{
	static const char *const words[] = {
	    [INTREE_REMOVED] = "removed", [INTREE_TAKEN] = "taken", [INTREE_KEPT] = "kept"};
	size_t n = strlen(reported);

	(void)arg;
	snprintf(reported + n, sizeof(reported) - n, "%s %s\n", words[what], name);
}

static struct candidates unneeded; /* found by a merge */

static inline void unneed(const char *content)
{
	struct err e;

	if (candidates_find(&unneeded, name_of(content), strlen(content)))
		return;
	assert_int_equal(candidates_add(&unneeded, name_of(content), strlen(content), &e), 0);
	candidates_sort(&unneeded);
}

#endif
