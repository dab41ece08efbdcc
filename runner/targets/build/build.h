/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BUILD_BUILD_H
#define RUNNER_TARGETS_BUILD_BUILD_H

#include "base/tool.h"
#include "runner/config/config.h"
#include "runner/targets/discover.h"

/* Builds the targets of a source before they are fuzzed: all targets of a Bazel workspace, or
 * whatever the configured command builds.
 *
 * When we are root, the build runs as the one user who owns the workspace (build_dir) and the
 * way there.  Its time and the kept part of its output are bounded.  SIGINT, SIGTERM and SIGHUP
 * end it as a whole.
 *
 * A file of an earlier build must not pass for a file of this one.  In a Bazel workspace the
 * failed targets are known by name.  For a command that failed, the time of its start is known, and
 * the names of the targets that an earlier build made (build_known()). */
enum { BUILD_WHY_MAX = 512 };
#define BUILD_LOG_MAX (UINT64_C(64) << 20) /* bytes */

struct build_result {
	bool ok;	   /* all of it */
	struct strv built; /* "bazel": labels; a command does not say */
	struct discover_built failed;
	char why[BUILD_WHY_MAX]; /* not ok: printable */
	uint64_t us, log_lost;
};
void build_result_done(struct build_result *r);

/* Whether there is something to build. */
bool build_wanted(const struct config_source *s);

/* Finds the user who would build the source.  -EPERM, with the remedy: no user may
 * (runner/targets/build_user.h).  *ret_root: root would.  -ENOENT: there is no such directory. */
MUST_CHECK int build_check(const struct config_source *s, bool *ret_root, struct err *e);

/* group: where the build runs; NULL: it has no limit but time.
 *
 * 0: the build ended, and *ret says how.  A program that cannot be started or takes too long is
 * a failed build.  -EINTR: a signal to us stopped the build, and its files must not be used.
 * Other errors are ours or the machine's. log_fd gets the build's output, up to BUILD_LOG_MAX. */
MUST_CHECK int build_source(const struct config_source *s, const struct tool_group *group,
			    int log_fd, struct build_result *ret, struct err *e);

/* The targets that a build command made before: those in its output directory now, and those that
 * its last build did not make (was->labels).  Empty for other sources. */
MUST_CHECK int build_known(const struct config_source *s, const struct discover_built *was,
			   struct strv *ret, struct err *e);
/* After a build that failed: each of these that is not in the directory goes to io->failed. */
MUST_CHECK int build_missing(const struct config_source *s, const struct strv *known,
			     struct build_result *io, struct err *e);

#endif
