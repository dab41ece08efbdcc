/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_BUILD_BUILDER_H
#define RUNNER_COMMAND_BUILD_BUILDER_H

#include "base/tool.h"
#include "cgroups/cgroup.h"
#include "runner/config/config.h"

/* The control group of builds, of Bazel when it is asked, and of git.  It has the limits in the
 * configuration and stands beside the groups of the cells ("fuzzcell/<instance>-b<n>").  One
 * source at a time uses it.  Processes of a source live until the next source or the end.  So
 * Bazel's server answers several questions, and is gone before the first cell starts. */
struct builder;

/* instance: of the state directory.  Ends first what a killed predecessor left.  With
 * "enforcement": "best-effort", a missing limit is a message, unless quiet. */
MUST_CHECK int builder_start(const struct config *c, const char *instance, bool quiet,
			     struct builder **ret, struct err *e);
/* Ends all processes in the group.  NULL is fine. */
void builder_close(struct builder *b);

/* The group of this source.  *ret NULL: with best effort, no group could be made. */
MUST_CHECK int builder_group(struct builder *b, const struct config_source *s,
			     const struct tool_group **ret, struct err *e);
/* The group of git, with the limits of config_git().  git may write to both directories. */
MUST_CHECK int builder_git(struct builder *b, const char *top, const char *objects,
			   const struct tool_group **ret, struct err *e);
/* Ends all processes in the group, and removes it. */
MUST_CHECK int builder_end(struct builder *b, struct err *e);

/* Ends processes that killed builders of the instance left. tree: any tree of the instance. */
void builder_sweep(const struct config *c, const char *instance, const struct cgroup_tree *tree);

#endif
