/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_SPARE_H
#define RUNNER_CORPUS_SPARE_H

#include "runner/corpus/measure/shard.h"

/* Fuzzing profits from more inputs than coverage needs.  So a corpus keeps all inputs that its
 * merge chose.  Other places (a repository, another machine, `regress`) get only its cover: the
 * fewest inputs that reach the same (cover_fewest()).  The other inputs are spare.
 *
 *   stats/merged/<target>.cover   "<sha1> <size>" a line
 *   stats/merged/<target>.spare   the same
 *
 * An input that came after the merge is in neither list, and is not spare.  Everything blocks. */

/* Saves both lists: together all of the target's corpus after a merge.  Both are sorted. */
MUST_CHECK int spare_save(int state_dirfd, const char *target, const struct candidates *cover,
			  const struct candidates *spare, struct err *e);
/* Removes the lists, so that no input is spare.  Call it before the corpus is replaced. */
MUST_CHECK int spare_forget(int state_dirfd, const char *target, struct err *e);
/* Removes the spare inputs from *io, the sorted list of the target's corpus.  *ret: the removed
 * inputs, sorted.  No input is spare while an input of the cover is missing from *io, or if the
 * lists are missing or damaged. */
MUST_CHECK int spare_leave_out(int state_dirfd, const char *target, struct candidates *io,
			       struct candidates *ret, struct err *e);

#endif
