/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_REGRESS_INPUTS_H
#define RUNNER_COMMAND_REGRESS_INPUTS_H

#include "runner/corpus/store.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/run/plan.h"
#include "runner/state/state.h"

/* The inputs that `fuzzcell regress` runs for a target: all known ones. */

/* Where the user finds the input. The order is the order of execution: likely failures come first.
 * Of equal inputs in several places only the first is run, under its path in the source tree if
 * there is one. */
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
	char *source; /* a path, or a name in an archive */
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
	/* Also the corpus's spare inputs (runner/corpus/spare.h).  Without it, another build than
	 * the main build runs its known crashes and regressions alone. */
	bool all;
};

/* Inputs that were left out. */
struct regress_left {
	uint64_t n;
	char why[260];	/* the first one and the reason; "": there is none */
	uint64_t spare; /* not counted in n: spare inputs of the corpus */
};

/* Copies the inputs into the new directory <name> of dirfd, and writes their list into the file
 * <name>.list. Blocks: call it in a child process. */
MUST_CHECK int regress_inputs_lay(const struct regress_sources *s, int dirfd, const char *name,
				  struct regress_left *ret_left, struct err *e);
/* Loads the list that the child wrote. regress_inputs_done() frees *ret. */
MUST_CHECK int regress_inputs_load(int dirfd, const char *name, struct regress_inputs *ret,
				   struct err *e);

#endif
