/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_SPARE_H
#define RUNNER_CORPUS_SPARE_H

#include "runner/corpus/measure/shard.h"

/* Fuzzing profits from more inputs than coverage needs.  So a corpus keeps what its merge
 * chose, and what goes elsewhere (into a repository, another machine, `regress`) is its
 * cover: the fewest inputs that reach the same (cover_fewest()).  The others are spare.
 *
 *   stats/merged/<target>.cover   "<sha1> <size>" a line
 *   stats/merged/<target>.spare   the same
 *
 * An input that came since the merge is in neither list, and not spare.  Everything blocks. */

/* All of the target's corpus, as a merge left it.  Both are sorted. */
MUST_CHECK int spare_save(int state_dirfd, const char *target, const struct candidates *cover,
			  const struct candidates *spare, struct err *e);
/* Before the corpus is replaced: from now on no input is spare. */
MUST_CHECK int spare_forget(int state_dirfd, const char *target, struct err *e);
/* Takes the spare inputs out of *io, the sorted list of the target's corpus.  As long as an
 * input of the cover is missing there no input is spare; nor is one where there are no such
 * lists, or damaged ones.  *ret: what was taken out, sorted. */
MUST_CHECK int spare_leave_out(int state_dirfd, const char *target, struct candidates *io,
			       struct candidates *ret, struct err *e);

#endif
