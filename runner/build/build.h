/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_BUILD_BUILD_H
#define RUNNER_BUILD_BUILD_H

#include "base/tool.h"
#include "runner/config/config.h"
#include "runner/discover/discover.h"

/* Building what a source's targets are made of, before they are fuzzed: all targets of a
 * Bazel workspace, or whatever the configured command builds.  When we are root it runs as
 * the one user who owns the workspace (build_dir) and the way there, bounded in time and in what is
 * kept of what it says, and is ended as a whole by SIGINT, SIGTERM and SIGHUP.
 *
 * Nothing that an earlier build left may pass for what this one made: of a Bazel workspace
 * the targets that failed are known by name; of a command that failed only the time is
 * known when it began. */
enum { BUILD_WHY_MAX = 400 };
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

/* As whom it would be built: -EPERM, with what to do, when nobody may do it
 * (runner/discover/builder.h); *ret_root: as root.  A directory that is not there is
 * -ENOENT. */
MUST_CHECK int build_check(const struct config_source *s, bool *ret_root, struct err *e);

/* group: where it runs; NULL: it has no limit but time.
 * 0: it came to an end, well or not: *ret says which.  -EINTR: stopped by a signal to us,
 * nothing is to be taken from it.  Other errors are ours or of the machine; a program that
 * can't be started, or took too long, is a build that is not ok.  log_fd: gets all that is
 * said, up to BUILD_LOG_MAX. */
MUST_CHECK int build_source(const struct config_source *s, const struct tool_group *group,
			    int log_fd, struct build_result *ret, struct err *e);

#endif
