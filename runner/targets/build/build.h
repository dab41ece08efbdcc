/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BUILD_BUILD_H
#define RUNNER_TARGETS_BUILD_BUILD_H

#include "base/tool.h"
#include "runner/config/config.h"
#include "runner/targets/discover.h"

/* Builds the targets of a source before fuzzing: all targets of a Bazel workspace, or the results
 * of the configured command.
 *
 * Under root, the build runs as the one user who owns the workspace (build_dir) and the path to it.
 * Its time and the kept part of its output are bounded.  SIGINT, SIGTERM and SIGHUP end all of its
 * processes.
 *
 * A file of an earlier build must not pass for a file of this one.  In a Bazel workspace the
 * failed targets are known by name.  For a command that failed, the time of its start is known, and
 * the names of the targets that an earlier build made (build_known()). */
enum { BUILD_WHY_MAX = 512 };
#define BUILD_LOG_MAX (UINT64_C(64) << 20) /* bytes */

struct build_result {
	bool ok;	   /* everything was built */
	struct strv built; /* "bazel": labels; empty for a build command */
	struct discover_built failed;
	char why[BUILD_WHY_MAX]; /* not ok: printable */
	uint64_t us, log_lost;
};
void build_result_done(struct build_result *r);

/* Whether the source has a build. */
bool build_wanted(const struct config_source *s);

/* The directory that the build command fills; NULL: unknown. */
const char *build_output(const struct config_source *s);

/* Whether the source before it has the same command, build_dir and user: another of its `variants`.
 */
bool build_is_again(const struct config_source *s);

/* Finds the user who would build the source.  -EPERM, with the remedy: no user may
 * (runner/targets/build_user.h).  *ret_root: root would.  -ENOENT: there is no such directory. */
MUST_CHECK int build_check(const struct config_source *s, bool *ret_root, struct err *e);

/* Runs the build.  group: where the build runs; NULL: it has no limit except time.
 *
 * 0: the build ended with the result *ret.  A program that cannot be started or takes too long is
 * a failed build.  -EINTR: a signal to us stopped the build, and its files must not be used.
 * Other errors are ours or the machine's.  log_fd gets the build's output, up to BUILD_LOG_MAX. */
MUST_CHECK int build_source(const struct config_source *s, const struct tool_group *group,
			    int log_fd, struct build_result *ret, struct err *e);

/* The targets that a build command made before: those in its output directory now, and those that
 * its last build did not make (was->labels).  Empty for other sources. */
void build_known(const struct config_source *s, const struct discover_built *was, struct strv *ret);
/* After a failed build: adds each known target that is not in the directory to io->failed. */
void build_missing(const struct config_source *s, const struct strv *known,
		   struct build_result *io);

#endif
