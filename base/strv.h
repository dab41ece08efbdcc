/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_STRV_H
#define BASE_STRV_H

#include "base/err.h"

#include <stddef.h>

/* A growing list of owned strings, NULL-terminated for exec. */
struct strv {
	char **v;
	size_t n;
};
void strv_push(struct strv *s, const char *text); /* a copy of text */
void strv_pushf(struct strv *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* To be replaced by the above. */
MUST_CHECK int strv_add(struct strv *s, const char *text, struct err *e);
MUST_CHECK int strv_addf(struct strv *s, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void strv_done(struct strv *s);
#define _autostrv_ CLEANUP(strv_done) /* include base/cleanup.h */

#endif
