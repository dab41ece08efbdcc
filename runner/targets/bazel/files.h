/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BAZEL_FILES_H
#define RUNNER_TARGETS_BAZEL_FILES_H

#include "runner/targets/bazel/bazel.h"
#include "runner/targets/bazel/graph.h"

/* What a target of a workspace has in its source tree: in-tree corpora (seed_dirs), a
 * dictionary and flags, from what its rule says.
 *
 * Corpora are the directories of the files in its `data` (`corpus`, for rules_fuzzing):
 * for each group of files (filegroup) the deepest directory that has all of them.  When
 * its own data have none, those of its siblings count: what the same call of a macro made
 * (the regression test of a fuzzer, say).  Only when there is none either, the directory
 * <name>_corpus of its package is taken.  Nothing outside of the workspace is. */

#define BAZEL_STEPS_MAX UINT64_C(200000000) /* of a whole workspace: bounds the time */

/* t's name and engine are set; what looks like a mistake becomes a note on label.
 * *io_steps starts as 0 for a workspace; -ELOOP beyond BAZEL_STEPS_MAX. */
MUST_CHECK int bazel_files(const struct bazel *b, const struct bazel_graph *g, const char *label,
			   struct target *t, struct target_list *notes, uint64_t *io_steps,
			   struct err *e);

#endif
