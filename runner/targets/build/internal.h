/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BUILD_INTERNAL_H
#define RUNNER_TARGETS_BUILD_INTERNAL_H

#include "base/json.h"
#include "runner/targets/build/build.h"

/* The parts of a build; nobody else includes this. */
MUST_CHECK int build_bazel(const struct config_source *s, const struct tool_group *group,
			   int log_fd, struct build_result *ret, struct err *e);
MUST_CHECK int build_command(const struct config_source *s, const struct tool_group *group,
			     int log_fd, struct build_result *ret, struct err *e);

/* Not ok, because of this; any bytes. */
void build_fail(struct build_result *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whether a line has the word, in capitals or not. */
bool build_says(struct slice line, const char *word);

/* What Bazel's build event protocol says of targets, in JSON, an event a line
 * (https://bazel.build/remote/bep-glossary).  Lines longer than this say nothing of a
 * target: the output of actions. */
enum { EVENTS_LINE_MAX = 1 << 20 };
#define EVENTS_MAX (UINT64_C(4) << 30) /* bytes of the file */

/* Every label of `labels` (plain, sorted) goes either to ret->built or, with a reason, to
 * ret->failed.  A label that no event names has failed.  *ret_any: there was an event.
 *
 * rights: those of the workspace's owner, with which the output of a failed action is opened for
 * its first error; NULL: no file is opened.  said: Bazel's own first error, for targets that did
 * not come to an action; "": none. */
struct events_beside {
	const struct rights *rights;
	const char *said;
};
MUST_CHECK int events_read(int fd, const struct strv *labels, const struct events_beside *beside,
			   struct build_result *ret, bool *ret_any, struct err *e);

/* The actions that failed, each with one line of what it printed. */
struct actions {
	const struct rights *rights;
	struct action *v;
	size_t n;
};
MUST_CHECK int actions_take(struct actions *a, const json_t *event, struct err *e);
/* NULL: nothing is known of it. */
const char *actions_line(const struct actions *a, const char *label, const char *output);
void actions_done(struct actions *a);

#endif
