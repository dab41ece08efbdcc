/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_HTTP_TOKEN_H
#define RUNNER_PUBLISH_HTTP_TOKEN_H

#include "base/err.h"
#include "base/scan.h"
#include "runner/config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* What we show to GitHub: a token from a file or the environment, or that of an App's
 * installation, which is asked for with a signed statement (a JWT) that the App's key
 * makes, and which lives for an hour.
 *
 * Secrets lie in memory of their own that is locked where that is allowed and in no core
 * file, and are wiped when they go.  No error has one in it. */
struct token;

enum {
	TOKEN_MAX = 4096,      /* bytes of a token; GitHub's have less than 300 */
	TOKEN_KEY_MAX = 16384, /* bytes of a key file; one of 8192 bits has 6400 */
};

/* For the child that sends, before it reads a token: no core file, and no other process
 * of the same user may look into its memory. */
void token_protect_process(void);

/* Reads a file with a secret, at most max - 1 bytes, to where it may lie: a regular one that only
 * its owner may read or write.
 * -EACCES: others may read it; -EINVAL: not a regular file; -EFBIG; else why it could not be
 * read. */
MUST_CHECK int token_read_file(const char *path, char *out, size_t max, size_t *ret_n,
			       struct err *e);

/* Reads what the configuration names (app before file before environment).  A file must
 * be a regular one that only its owner may read or write; blanks and newlines around a
 * token are not part of it.
 * -EINVAL: none is named, or it is none; -EACCES: others may read the file; else why
 * the file could not be read. */
MUST_CHECK int token_new(const struct github_config *c, struct token **ret, struct err *e);
void token_free(struct token *t); /* NULL is fine */

/* "Bearer ...", the token's until its next call; NULL: an App whose installation has no
 * token that will live for another five minutes (now_s: Unix seconds). */
const char *token_bearer(const struct token *t, uint64_t now_s);

/* Stands for what was read, in files that are no secret: 52 bits of a SHA-1 of it; never 0. */
uint64_t token_number(const struct token *t);

bool token_is_app(const struct token *t);
/* An App's own "Bearer ..." (good for nine minutes), with which to ask for one. */
MUST_CHECK int token_app_bearer(struct token *t, uint64_t now_s, const char **ret, struct err *e);
/* What was answered; -EINVAL: no token. */
MUST_CHECK int token_keep(struct token *t, struct slice text, uint64_t expires_s, struct err *e);
/* It was refused: forget it. */
void token_drop(struct token *t);

/* What a server said: the secrets that it was shown become stars, also a beginning of one of
 * eight bytes or more, or of four that the text ends with (it was cut). t may be NULL. */
void token_hide(const struct token *t, char *text);
/* The same of one secret; "" hides nothing. */
void token_hide_secret(const char *secret, char *text);

/* RS256 over header and claims of App `app`: RFC 7515, 7518, 7519; pem is a private RSA
 * key without a pass phrase, of 2048 bits at least.  For token.c. */
MUST_CHECK int token_jwt(struct slice pem, uint64_t app, uint64_t now_s, char *out, size_t n,
			 struct err *e);

#endif
