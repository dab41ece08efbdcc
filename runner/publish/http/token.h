/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_HTTP_TOKEN_H
#define RUNNER_PUBLISH_HTTP_TOKEN_H

#include "base/err.h"
#include "base/scan.h"
#include "runner/config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* The secret for requests to GitHub: a token from a file or the environment, or the token of an
 * App's installation.  An installation's token is requested with a JWT signed by the App's key,
 * and is valid for an hour.
 *
 * Secrets are in separate memory, which is locked if the limits permit, is not in core files,
 * and is wiped when it is freed.  No error contains a secret. */
struct token;

enum {
	TOKEN_MAX = 4096,      /* bytes; GitHub's tokens have less than 300 */
	TOKEN_KEY_MAX = 16384, /* bytes of a key file; an 8192-bit key has 6400 */
};

/* Call it in the sending child before it reads a token.  Disables core files, and keeps other
 * processes of the same user from reading this process's memory. */
void token_protect_process(void);

/* Reads a file with a secret, at most max - 1 bytes.  Only a regular file is accepted that only
 * its owner may read or write.
 * -EACCES: others may read it; -EINVAL: not a regular file; -EFBIG; else the reason why the file
 * cannot be read. */
MUST_CHECK int token_read_file(const char *path, char *out, size_t max, size_t *ret_n,
			       struct err *e);

/* Reads the secret that the configuration names (an App before a file before the environment).
 * For files see token_read_file().  Blanks and newlines around a token are dropped.
 * -EINVAL: the configuration names none, or it is not a token; -EACCES: others may read the
 * file; else the reason why the file cannot be read. */
MUST_CHECK int token_new(const struct github_config *c, struct token **ret, struct err *e);
void token_free(struct token *t); /* NULL is fine */

/* "Bearer ...", valid until the next call on t.  NULL: the App's installation has no token that
 * remains valid for five minutes.  now_s: Unix seconds. */
const char *token_bearer(const struct token *t, uint64_t now_s);

/* Identifies the secret in files that are not secret: 52 bits of the SHA-1 of its SHA-1;
 * never 0. */
uint64_t token_number(const struct token *t);

bool token_is_app(const struct token *t);
/* An App's own "Bearer ..." (valid for nine minutes), for requesting an installation's token. */
MUST_CHECK int token_app_bearer(struct token *t, uint64_t now_s, const char **ret, struct err *e);
/* Keeps the installation's token from an answer; -EINVAL: not a token. */
MUST_CHECK int token_keep(struct token *t, struct slice text, uint64_t expires_s, struct err *e);
/* Forgets the installation's token, after a server refused it. */
void token_drop(struct token *t);

/* Replaces the secrets in a server's text by stars.  Also replaces the beginning of a secret:
 * eight bytes or more, or four at the end of the text, which may have been cut.  t may be NULL. */
void token_hide(const struct token *t, char *text);
/* The same for one secret; "" hides nothing. */
void token_hide_secret(const char *secret, char *text);

/* --- tokens from the environment ------------------------------------------------ */

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
