/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_WHERE_H
#define RUNNER_CONFIG_WHERE_H

#include "base/err.h"
#include "base/scan.h"

#include <stdbool.h>

/* The place of a value, for messages: file, line and path of keys.
 * The path is a chain on the stack, innermost key first. */

/* The source of a text. */
struct input {
	const char *name; /* for messages: "config.json", "command line" */
	const char *dir;  /* absolute; relative paths start here */
};

struct where {
	const struct where *up; /* NULL: the top of the input */
	const struct input *input;
	const char *key; /* NULL: an element of a list */
	size_t index;
	bool quoted;   /* a name chosen by the user: always printed in quotes */
	uint32_t line; /* 0: not in a file */
};

/* Sets "config.json:14: targets.\"css_*\".memory: <message>" and returns -EINVAL. */
int where_fail(const struct where *at, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* "config.json:14", "command line". */
enum { WHERE_PLACE_MAX = 256 };
const char *where_place(const struct where *at, char out[WHERE_PLACE_MAX]);
/* "targets.\"css_*\".memory"; "" at the top.  A path that is too long is cut. */
enum { WHERE_PATH_MAX = 200 };
const char *where_path(const struct where *at, char out[WHERE_PATH_MAX]);

/* A user's text in quotes, safe to print: control characters become '?', and the text is cut
 * after 60 bytes, never inside a character. */
enum { QUOTE_MAX = 72 };
const char *quote(struct slice text, char out[QUOTE_MAX]);

#endif
