/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/err.h"
#include "base/scan.h"

#include <jansson.h>
#include <stdint.h>

/* JSON through jansson: the one place that parses and prints it, with caps.
 * The values are json_t; own them with _autojson_. */
static inline void json_decref_p(json_t **j)
{
	json_decref(*j);
}

#define _autojson_ __attribute__((cleanup(json_decref_p)))

/* One JSON value, no duplicate keys, no NUL bytes in strings, nesting as deep as
 * jansson allows (2048).  Errors: "line N, column M: why". */
MUST_CHECK int json_parse(struct slice text, json_t **ret, struct err *e);
/* A whole file (not a symlink when dirfd is not AT_FDCWD); refused above max bytes. */
MUST_CHECK int json_load(int dirfd, const char *path, size_t max, json_t **ret, struct err *e);
/* In a new string (free() it); indent 0 is one line.  Keys keep their order, reals
 * have up to 15 digits, and all is ASCII: what a string holds may reach a terminal. */
MUST_CHECK int json_print(const json_t *j, unsigned indent, char **ret, struct err *e);

/* Of an object that anybody may have written: 0, or "", for what it has not, or of another type
 * or below 0. */
uint64_t json_get_u64(const json_t *o, const char *key);
const char *json_get_text(const json_t *o, const char *key); /* the object's */
/* A number of seconds (at most 1e12 of them) in microseconds. */
uint64_t json_get_us(const json_t *o, const char *key);

#endif
