/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_RECOVER_H
#define RUNNER_CORPUS_RECOVER_H

#include "runner/state/state.h"

/* Recovers what killed runs left in work/.  Saves their inputs and artifacts to the same places as
 * a clean end, notes in the history that the runs were lost, and removes the working directories.
 * Every start does this first. */
struct recovered {
	uint64_t runs, targets, inputs, artifacts;
};
MUST_CHECK int recover_lost_runs(struct state *s, struct recovered *ret, struct err *e);

#endif
