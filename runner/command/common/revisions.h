/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_REVISIONS_H
#define RUNNER_COMMAND_COMMON_REVISIONS_H

#include "runner/command/common/session.h"
#include "runner/config/relocate.h"
#include "runner/revision/shelf.h"
#include "runner/revision/tree.h"

/* Builds targets as they are in other commits of the repository: one source of the configuration,
 * in a work tree of its own, by the source's own build, with its limits and its user.  Starts as
 * {0}. */
struct revisions {
	struct session *session;
	const struct config_source *source; /* as configured */
	struct revision_tree *tree;
	char *from; /* the top of the work tree, as the configuration writes it */
	char how[SHELF_HOW];
	struct git_limits limits;
	unsigned builds;   /* made by this process */
	uint64_t build_us; /* their time */
	uint64_t kept_max; /* bytes of built targets that are kept (bisect.cache) */
};

/* After session_lock() or session_open(), or only for the tree.  target: a name; its source is
 * found. NULL: the first source with a build.  Prints errors, and returns an exit status.  Call
 * revisions_close() also after a failure. */
int revisions_open(struct revisions *r, struct session *s, const char *target);
void revisions_close(struct revisions *r);

/* The target as it is in the commit, from the shelf or from a build.  -EINTR: a signal came.  Other
 * errors are ours or the machine's, or the commit cannot be checked out: *ret is SHELF_UNBUILT
 * then, with the reason, and nothing is noted. */
MUST_CHECK int revisions_target(struct revisions *r, const char *commit, const char *target,
				struct shelf_item *ret, struct err *e);
/* Forgets a build that failed, so that the commit is built again. */
MUST_CHECK int revisions_forget(struct revisions *r, const char *commit, const char *target,
				struct err *e);

#endif
