/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_RECOVER_H
#define RUNNER_CORPUS_RECOVER_H

#include "runner/state/state.h"

/* What runs that were killed left in work/: their inputs and artifacts are saved
 * where a clean end would have put them, the history says that they were lost,
 * the working directories go.  Every start does this, before anything else. */
struct recovered {
	uint64_t runs, targets, inputs, artifacts;
};
MUST_CHECK int recover_lost_runs(struct state *s, struct recovered *ret, struct err *e);

#endif
