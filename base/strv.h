/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_STRV_H
#define BASE_STRV_H

#include <stddef.h>

/* A growing list of owned strings, NULL-terminated for exec. */
struct strv {
	char **v;
	size_t n;
};
void strv_push(struct strv *s, const char *text); /* a copy of text */
void strv_pushf(struct strv *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strv_done(struct strv *s);
#define _autostrv_ CLEANUP(strv_done) /* include base/cleanup.h */

#endif
