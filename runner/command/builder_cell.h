/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_BUILDER_CELL_H
#define RUNNER_COMMAND_BUILDER_CELL_H

#include "base/tool.h"
#include "cgroups/cgroup.h"
#include "runner/build/watch.h"
#include "runner/config/config.h"

/* A build in a cell ("build_isolation": "cell"): its work tree is writable, with the owner's
 * rights; of the rest it sees the host's /usr, read-only; nothing of it outlives its command. */
struct builder_cell {
	const struct config *config;
	struct cgroup_tree *tree;
	const char *instance; /* names the runtime directory */
	const struct config_source *source;
	const struct cgroup_limits *limits;
	const struct watch *watch;
};

/* As tool_run().  -EPERM: the work tree is root's, or of another user than we are. */
MUST_CHECK int builder_cell_run(const struct builder_cell *b, const struct tool *t,
				struct tool_end *ret, struct err *e);

/* What passed a limit between two readings; -EDQUOT, *e says which. */
MUST_CHECK int builder_limits(const struct cgroup_limits *lim, const struct cgroup_counters *before,
			      const struct cgroup_counters *now, struct err *e);

#endif
