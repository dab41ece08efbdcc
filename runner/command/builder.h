/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_BUILDER_H
#define RUNNER_COMMAND_BUILDER_H

#include "base/tool.h"
#include "cgroups/cgroup.h"
#include "runner/config/config.h"

/* The group that builds, and Bazel when it is asked, run in: with the limits that the source's
 * configuration says, beside the groups of the cells ("fuzzcell/<instance>-b<n>").  One source
 * at a time has it.  What a source leaves there lives until the next source, or the end: so
 * Bazel's server answers several questions, and is gone before the first cell starts. */
struct builder;

/* instance: of the state directory.  Ends first what a killed predecessor left.
 * With "enforcement": "best-effort", what cannot be kept is said. */
MUST_CHECK int builder_start(const struct config *c, const char *instance, struct builder **ret,
			     struct err *e);
/* Ends all that runs in it.  NULL is fine. */
void builder_close(struct builder *b);

/* The group of this source; *ret NULL: there is none, and best effort goes on without. */
MUST_CHECK int builder_group(struct builder *b, const struct config_source *s,
			     const struct tool_group **ret, struct err *e);
/* Ends all that runs in it, and keeps nothing of the group. */
MUST_CHECK int builder_end(struct builder *b, struct err *e);

/* Ends what killed builders of the instance left; tree: any of the instance's. */
void builder_sweep(const struct config *c, const char *instance, const struct cgroup_tree *tree);

#endif
