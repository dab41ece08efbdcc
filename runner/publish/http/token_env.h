/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_HTTP_TOKEN_ENV_H
#define RUNNER_PUBLISH_HTTP_TOKEN_ENV_H

#include "base/err.h"

/* A token from an environment variable.  The environment of a process is in its core file and in
 * /proc/PID/environ, and every program that the process starts inherits it.  So the token is
 * removed from the environment before any program starts.  Its bytes there are wiped, and a copy
 * is kept in memory that is not in core files.  Forked children have the copy, executed programs
 * do not.
 *
 * The copy is kept by name until the process ends. */

enum { TOKEN_ENV_MAX = 8192 }; /* bytes of name and value, including surrounding blanks */

/* -EINVAL: the value is too long for a token; it is removed from the environment all the same.
 * An unset variable is no error: the value kept under its name stays. */
MUST_CHECK int token_env_take(const char *name, struct err *e);

/* The kept value; NULL: none. */
const char *token_env_value(const char *name);

/* Hands the token to another fuzzcell program: *ret_fd is the reading end of a pipe that holds
 * it, closed on exec.  -1: no token is kept. */
MUST_CHECK int token_env_pipe(const char *name, int *ret_fd, struct err *e);
/* Reads such a pipe to its end and keeps the token.  -EINVAL: not a token. */
MUST_CHECK int token_env_read(int fd, struct err *e);

#endif
