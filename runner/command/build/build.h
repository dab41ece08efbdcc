/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_BUILD_BUILD_H
#define RUNNER_COMMAND_BUILD_BUILD_H

#include "base/json.h"
#include "runner/command/common/session.h"

/* Builds the sources of the configuration that have something to build, one after the other, and
 * prints the results. s has the state's lock. Failures are recorded in the state
 * (runner/targets/build/record.h) for session_plan(). */
struct builds {
	size_t sources;	      /* number of sources with something to build */
	size_t failed;	      /* of these: not built, or only in part */
	size_t nothing;	      /* of these: nothing at all was built */
	json_t *sources_json; /* the caller's array, gets one object per source; NULL: none */
};

bool builds_wanted(const struct session *s);
/* Returns EXIT_DONE also if builds failed: check *io. EXIT_BUILD: stopped by a signal. */
int builds_all(struct session *s, struct builds *io);

#endif
