/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_INTREE_INTERNAL_H
#define RUNNER_CORPUS_INTREE_INTERNAL_H

#include "runner/corpus/intree/intree.h"

/* Shared by work trees and commits. */

struct intree_corpus {
	const struct intree *t;
	struct candidates all; /* without the spare ones */
	struct candidates spare;
	bool *known; /* for each of `all`: the tree has it */
};
MUST_CHECK int intree_corpus_open(const struct intree *t, struct intree_corpus *ret, struct err *e);
void intree_corpus_close(struct intree_corpus *c);

/* Whether prune may remove anything: not if the corpus is empty. */
bool intree_corpus_prunes(const struct intree_corpus *c);

/* Whether prune may remove a file with this content. */
bool intree_corpus_unneeded(const struct intree_corpus *c, const char *hex, uint64_t size);

/* 1: the input's content, in a new buffer (free() it).  0: it is empty, or its content does not
 * match its name. */
MUST_CHECK int intree_corpus_read(const struct intree_corpus *c, size_t i, char **ret,
				  size_t *ret_n, struct err *e);

void intree_report(const struct intree *t, enum intree_what what, const char *name);

#endif
