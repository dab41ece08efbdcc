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

/* A file in the tree has this content.  Returns whether it is an input of the corpus, and marks it
 * as known. */
bool intree_corpus_know(struct intree_corpus *c, const char *hex, uint64_t size);

/* 1: the input's content, in a new buffer (free() it).  0: it is empty, or its content does not
 * match its name. */
MUST_CHECK int intree_corpus_read(const struct intree_corpus *c, size_t i, char **ret,
				  size_t *ret_n, struct err *e);

/* The files of a commit below a directory. */
struct intree_entry {
	const char *oid;  /* 40 digits, then something else */
	const char *path; /* from the work tree's top */
	bool input;	  /* the file may be an input */
	bool known;	  /* it is an input of the corpus */
	bool unneeded;	  /* prune may remove it */
};
struct intree_tree {
	struct buf text; /* the memory of the entries' texts */
	struct intree_entry *by_path;
	struct intree_entry **by_oid; /* inputs only */
	size_t n, n_inputs;
};
/* Call intree_tree_done(ret) also after a failure. */
MUST_CHECK int intree_tree_read(const struct git *g, const char *base, const char *prefix,
				struct intree_tree *ret, struct err *e);
void intree_tree_done(struct intree_tree *t);
/* Marks the inputs with this object name as known; false: there is none. */
bool intree_tree_know(struct intree_tree *t, const char *oid);

/* Sets `unneeded` of the inputs: reads the content of each from git. */
MUST_CHECK int intree_tree_unneeded(struct intree_tree *t, const struct git *g,
				    const struct intree_corpus *c, struct err *e);

enum intree_at {
	INTREE_AT_NOTHING,
	INTREE_AT_INPUT, /* *ret */
	INTREE_AT_OTHER, /* a directory, a link, a dot file */
};
enum intree_at intree_tree_at(const struct intree_tree *t, const char *path,
			      struct intree_entry **ret);

void intree_tell(const struct intree *t, enum intree_what what, const char *name);

#endif
