/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_WHERE_H
#define RUNNER_CONFIG_WHERE_H

#include "base/err.h"
#include "base/scan.h"

#include <stdbool.h>

/* The place of a value, for messages: file, line and the way to it by keys.
 * A chain on the stack, innermost first. */

/* Where text comes from. */
struct input {
	const char *name; /* for people: "config.json", "command line" */
	const char *dir;  /* absolute: what relative paths are relative to */
};

struct where {
	const struct where *up; /* NULL: the top of the input */
	const struct input *input;
	const char *key; /* NULL: an element of a list */
	size_t index;
	bool quoted;   /* a name that a person chose: always printed in quotes */
	uint32_t line; /* 0: not in a file */
};

/* "config.json:14: targets.\"css_*\".memory: " and the message; -EINVAL. */
int where_fail(const struct where *at, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* "config.json:14", "command line". */
enum { WHERE_PLACE_MAX = 256 };
const char *where_place(const struct where *at, char out[WHERE_PLACE_MAX]);
/* "targets.\"css_*\".memory"; "" at the top.  What is too long is cut. */
enum { WHERE_PATH_MAX = 200 };
const char *where_path(const struct where *at, char out[WHERE_PATH_MAX]);

/* A person's text in quotes, safe to print: control characters as '?', cut
 * after 60 bytes between two characters. */
enum { QUOTE_MAX = 72 };
const char *quote(struct slice text, char out[QUOTE_MAX]);

#endif
