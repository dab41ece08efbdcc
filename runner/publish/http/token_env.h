/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_HTTP_TOKEN_ENV_H
#define RUNNER_PUBLISH_HTTP_TOKEN_ENV_H

#include "base/err.h"

/* A token that came in a variable of the environment.  The environment of a process is in
 * its core file and in /proc/PID/environ, and every program that it starts inherits it.
 * So a token leaves it before anything is started: its bytes there are wiped, and what it was
 * lies in memory that is in no core file.  Forked children have it, executed programs not.
 *
 * Kept for the whole process, by name, until it ends, as the environment is. */

enum { TOKEN_ENV_MAX = 8192 }; /* bytes of name and value, blanks around it included */

/* -EINVAL: it is too long for a token (and gone all the same).  A variable that is not set is
 * no error: what was kept under its name stays. */
MUST_CHECK int token_env_take(const char *name, struct err *e);

/* What was kept; NULL: nothing. */
const char *token_env_value(const char *name);

/* For a program of ours that shall have it: *ret_fd is the reading end of a pipe that holds it,
 * closed on exec; -1: nothing was kept. */
MUST_CHECK int token_env_pipe(const char *name, int *ret_fd, struct err *e);
/* Keeps what such a pipe holds, to its end.  -EINVAL: it is none. */
MUST_CHECK int token_env_read(int fd, struct err *e);

#endif
