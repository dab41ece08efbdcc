/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_BUILD_BUILDS_H
#define RUNNER_COMMAND_BUILD_BUILDS_H

#include "base/json.h"
#include "runner/command/common/session.h"

/* Builds every source of the configuration that has something to build, one after the
 * other, and says what came of it.  s has the state's lock; what failed is put down there
 * (runner/targets/build/record.h), where session_plan() finds it. */
struct builds {
	size_t sources;	      /* that had something to build */
	size_t failed;	      /* of these: not, or not all of it */
	size_t nothing;	      /* of these: it is known that nothing at all was built */
	json_t *sources_json; /* the caller's array, which gets an object each; NULL: none */
};

bool builds_wanted(const struct session *s);
/* EXIT_DONE also when builds failed: *ret says so.  EXIT_BUILD: stopped by a signal. */
int builds_all(struct session *s, struct builds *io);

#endif
