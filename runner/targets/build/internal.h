/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BUILD_INTERNAL_H
#define RUNNER_TARGETS_BUILD_INTERNAL_H

#include "base/json.h"
#include "runner/targets/build/build.h"

/* The parts of a build.  Private to this directory. */
MUST_CHECK int build_bazel(const struct config_source *s, const struct tool_group *group,
			   int log_fd, struct build_result *ret, struct err *e);
MUST_CHECK int build_command(const struct config_source *s, const struct tool_group *group,
			     int log_fd, struct build_result *ret, struct err *e);

/* -EPERM, with the remedy: a user other than root and the build's user controls the script of the
 * project.  0 for other sources. */
MUST_CHECK int build_check_script(const struct config_source *s, const struct owner *o,
				  struct err *e);

/* The environment of a source that is one of several builds: as in a build of OSS-Fuzz, with WORK
 * beside the builds.  For other sources, nothing.  docs/discovery.md describes it. */
void build_environment(const struct config_source *s, struct strv *ret);
/* OSS-Fuzz's name of a machine as uname(2) names it. */
const char *build_architecture(const char *machine);

/* Marks the build as failed, with a reason that may contain any bytes. */
void build_fail(struct build_result *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whether a line contains the word; ignores case. */
bool build_has_word(struct slice line, const char *word);

/* Parses Bazel's build event protocol: JSON, one event per line
 * (https://bazel.build/remote/bep-glossary).  Longer lines are the output of actions and are
 * ignored. */
enum { EVENTS_LINE_MAX = 1 << 20 };
#define EVENTS_MAX (UINT64_C(4) << 30) /* bytes of the file */

/* Adds every label of `labels` (plain, sorted) to ret->built or, with a reason, to ret->failed.  A
 * label without an event has failed.  *ret_any: there was an event.
 *
 * rights: the workspace's owner's, to open the output of a failed action for its first error;
 * NULL: opens no file.  first_error: Bazel's own, for targets without an action; "": none. */
struct events_beside {
	const struct rights *rights;
	const char *first_error;
};
MUST_CHECK int events_read(int fd, const struct strv *labels, const struct events_beside *beside,
			   struct build_result *ret, bool *ret_any, struct err *e);

#endif
