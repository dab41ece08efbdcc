/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BAZEL_FILES_H
#define RUNNER_TARGETS_BAZEL_FILES_H

#include "runner/targets/bazel/bazel.h"
#include "runner/targets/bazel/graph.h"

/* Finds a target's files in the source tree by its rule: in-tree corpora (seed_dirs), a dictionary
 * and flags.
 *
 * Corpora are directories of the files in `data` (`corpus`, for rules_fuzzing).  For each group of
 * files (filegroup), the corpus is the deepest directory that contains all files.  If the rule has
 * none, its siblings are used: rules made by the same call of a macro, such as a regression test.
 * If these have none either, the directory <name>_corpus of the package is used.  Files outside of
 * the workspace are never used. */

#define BAZEL_STEPS_MAX UINT64_C(200000000) /* for a whole workspace, to limit the time */

/* t's name and engine must be set.  Likely mistakes become notes on label.  *io_steps must start as
 * 0 for each workspace; -ELOOP beyond BAZEL_STEPS_MAX. */
MUST_CHECK int bazel_files(const struct bazel *b, const struct bazel_graph *g, const char *label,
			   struct target *t, struct target_list *notes, uint64_t *io_steps,
			   struct err *e);

#endif
