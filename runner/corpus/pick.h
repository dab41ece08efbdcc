/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_PICK_H
#define RUNNER_CORPUS_PICK_H

#include "base/err.h"

#include <stdint.h>

/* Other inputs for a job's cell than its whole corpus (runner/policy/strategy.h).  All functions
 * block: call them in a child process. */

enum {
	PICK_PART = 8,		 /* pick_part() leaves one input of so many */
	PICK_OTHERS_MOST = 2000, /* inputs of all other targets together */
	PICK_BYTES_MOST = 65536, /* longer inputs of other targets are left out */
};

/* Removes files from the directory `seeds` of a working directory, until a part is left that
 * depends on salt: at least one file. */
MUST_CHECK int pick_part(int seeds, uint64_t salt, struct err *e);
/* Copies inputs of other targets' corpora, as many of each, into the directory `others`.  corpora:
 * the directory with a corpus for each target. */
MUST_CHECK int pick_others(int corpora, const char *target, int others, struct err *e);
/* Removes from the directory `seeds` what is in `theirs`, the corpus of another build, and not in
 * the target's own corpus. */
MUST_CHECK int pick_leave_out(int seeds, int theirs, int corpus, struct err *e);
/* Copies the inputs in `others` into the target's corpus: a later merge removes those that it does
 * not need. */
MUST_CHECK int pick_keep(int others, int corpus, struct err *e);

#endif
