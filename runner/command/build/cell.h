/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_BUILD_CELL_H
#define RUNNER_COMMAND_BUILD_CELL_H

#include "base/tool.h"
#include "cgroups/cgroup.h"
#include "runner/config/config.h"
#include "runner/targets/build/limits.h"

/* A build in a cell ("build_isolation": "cell").  Its work tree is writable, with the owner's
 * rights.  Of the rest it sees the host's /usr, read-only.  None of its processes outlives its
 * command. */
struct builder_cell {
	const struct config *config;
	struct cgroup_tree *tree;
	const char *instance; /* part of the runtime directory's name */
	const struct config_source *source;
	const struct cgroup_limits *limits;
	const struct limits *file_limits;
};

/* Runs the tool like tool_run().  -EPERM: root owns the work tree, or we are not root and
 * another user owns it. */
MUST_CHECK int builder_cell_run(const struct builder_cell *b, const struct tool *t,
				struct tool_end *ret, struct err *e);

/* Finds the limit that was passed between two readings; -EDQUOT, and *e names it. */
MUST_CHECK int builder_limits(const struct limit_names *names, const struct cgroup_limits *lim,
			      const struct cgroup_counters *before,
			      const struct cgroup_counters *now, struct err *e);

/* -EPERM: a build in a cell can have made the repository with the work tree top.  Only .git at the
 * top of the build's own work tree is read-only; git runs what the configuration of a repository
 * names, outside of the cell. */
MUST_CHECK int builder_check_repository(const struct config *c, const char *top, struct err *e);

#endif
