/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_BUILD_BUILDER_H
#define RUNNER_COMMAND_BUILD_BUILDER_H

#include "base/tool.h"
#include "cgroups/cgroup.h"
#include "runner/config/config.h"

/* The control group of builds, of Bazel queries, and of git. It has the limits of the
 * configuration, and is next to the groups of the cells ("fuzzcell/<instance>-b<n>"). Only one
 * source uses it at a time. A source's processes live until the next source or the end. So Bazel's
 * server answers several queries, and has ended before the first cell starts. */
struct builder;

/* instance: that of the state directory. First kills the processes that a killed predecessor left.
 * With "enforcement": "best-effort", a missing limit causes only a message, unless quiet. */
MUST_CHECK int builder_start(const struct config *c, const char *instance, bool quiet,
			     struct builder **ret, struct err *e);
/* Ends all processes in the group, and frees b. b may be NULL. */
void builder_close(struct builder *b);

/* Makes the group of this source. *ret NULL: best effort, and no group could be made. */
MUST_CHECK int builder_group(struct builder *b, const struct config_source *s,
			     const struct tool_group **ret, struct err *e);
/* Makes the group of git, with the limits of config_git(). git may write to both directories. */
MUST_CHECK int builder_git(struct builder *b, const char *top, const char *objects,
			   const struct tool_group **ret, struct err *e);

/* Kills the processes that killed builders of the instance left. tree: any tree of the instance. */
void builder_sweep(const struct config *c, const char *instance, const struct cgroup_tree *tree);

#endif
