/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_REGRESS_INPUTS_H
#define RUNNER_COMMAND_REGRESS_INPUTS_H

#include "runner/corpus/store.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/run/plan.h"
#include "runner/state/state.h"

/* What `fuzzcell regress` runs of a target: all that is known of it. */

/* Where a person finds it, in the order in which they run: what is likely to fail comes first.  Of
 * the same content in several places the first counts, and a path in the tree is its name. */
enum regress_from {
	REGRESS_CRASH,	    /* crashes/<crash>/ of the state */
	REGRESS_REGRESSION, /* regressions/<target>/ of the state */
	REGRESS_TREE,	    /* the directories beside the target */
	REGRESS_SEEDS,	    /* "seeds" of the configuration */
	REGRESS_ARCHIVE,    /* <target>_seed_corpus.zip */
	REGRESS_CORPUS,	    /* corpus/<target>/ of the state */
	REGRESS_FROM_COUNT,
};
const char *regress_from_name(enum regress_from f); /* "crash", "regression", ... */

struct regress_input {
	char name[STORE_NAME]; /* SHA-1 of its content: its name in the directory */
	enum regress_from from;
	char *source; /* a path, or a place in an archive */
};

/* Starts as {0}. */
struct regress_inputs {
	struct regress_input *v;
	size_t n, cap;
};
void regress_inputs_done(struct regress_inputs *r);

struct regress_sources {
	const struct state *state;
	const struct ledger *ledger;
	const struct plan_entry *target;
	bool all; /* also what is spare in the corpus (runner/corpus/spare.h) */
};

/* What should have been an input and is not one. */
struct regress_left {
	uint64_t n;
	char why[260];	/* the first of them, and why; "": there is none */
	uint64_t spare; /* not counted in n: the corpus reaches the same without them */
};

/* Copies all of them into the directory <name> of dirfd, made anew, and writes the
 * list into the file <name>.list.  Blocks: in a child process. */
MUST_CHECK int regress_inputs_lay(const struct regress_sources *s, int dirfd, const char *name,
				  struct regress_left *ret_left, struct err *e);
/* The list, as the child wrote it; regress_inputs_done() frees. */
MUST_CHECK int regress_inputs_load(int dirfd, const char *name, struct regress_inputs *ret,
				   struct err *e);

#endif
