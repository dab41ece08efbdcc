/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_SAID_H
#define RUNNER_COMMAND_COMMON_SAID_H

#include "runner/command/command.h"

/* What somebody else at this machine has to give to a command so that it means what this
 * process works on: absolute paths, NULL where nothing needs to be said.  A path that nobody
 * would type (more than 512 bytes) is left out. */
struct said {
	char *config, *state; /* --config, --state-dir */
};
/* How we were called (NULL: unknown) and the path of the state that is open. */
void said_find(const struct common *c, const char *state_path, struct said *ret);
void said_done(struct said *s);

#endif
