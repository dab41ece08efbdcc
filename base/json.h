/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/err.h"
#include "base/scan.h"

#include <jansson.h>
#include <stdint.h>

/* The only module that parses and prints JSON, through jansson, with size limits.  The values are
 * json_t; own them with _autojson_. */
static inline void json_decref_p(json_t **j)
{
	json_decref(*j);
}

#define _autojson_ __attribute__((cleanup(json_decref_p)))

/* Parses one JSON value.  Duplicate keys, NUL bytes in strings and nesting deeper than jansson's
 * limit (2048) are refused.  Errors: "line N, column M: why". */
MUST_CHECK int json_parse(struct slice text, json_t **ret, struct err *e);
/* Parses a whole file, at most max bytes.  A symlink is followed only with AT_FDCWD. */
MUST_CHECK int json_load(int dirfd, const char *path, size_t max, json_t **ret, struct err *e);
/* Prints to a new string (free() it); indent 0 prints one line.  Keys keep their order, and reals
 * have up to 15 digits.  The text is ASCII only, because it may reach a terminal.  The only error
 * is -EINVAL for j NULL, for example of a constructor that got text that is not UTF-8. */
MUST_CHECK int json_print(const json_t *j, unsigned indent, char **ret, struct err *e);

/* Members of an untrusted object.  Returns 0 or "" when the member is missing, has another type or
 * is negative. */
uint64_t json_get_u64(const json_t *o, const char *key);
const char *json_get_text(const json_t *o, const char *key); /* valid as long as the object */
/* A member in seconds (at most 1e12), converted to microseconds. */
uint64_t json_get_us(const json_t *o, const char *key);

#endif
