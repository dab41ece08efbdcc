/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_SAID_H
#define RUNNER_COMMAND_COMMON_SAID_H

#include "runner/command/command.h"

/* The paths that another command needs as options to work on the same state as this process. They
 * are absolute; NULL: the option is not needed. Paths longer than 512 bytes are left out: no user
 * would type them. */
struct said {
	char *config, *state; /* --config, --state-dir */
};
/* c: the options of this process (NULL: unknown). state_path: the path of the open state. */
void said_find(const struct common *c, const char *state_path, struct said *ret);
void said_done(struct said *s);

#endif
