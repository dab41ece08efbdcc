/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_VALUE_H
#define RUNNER_CONFIG_VALUE_H

#include "runner/config/places.h"
#include "runner/config/schema.h"
#include "runner/config/where.h"

/* Reads one value of the schema from JSON into its struct, and writes it back. */

enum { VALUE_LIST_MAX = 256, VALUE_PATH_MAX = 4095, VALUE_ENV_MAX = 4096, VALUE_WORD_MAX = 4096 };

/* Checks v and stores it in the struct at base.  Frees the old value.  id is the id of v in
 * places, for the lines of list elements; places may be NULL. */
MUST_CHECK int value_read(const struct key *k, json_t *v, const struct where *at,
			  const struct places *places, uint32_t id, void *base, struct err *e);
/* The same from plain text: a preset, or text from the command line. */
MUST_CHECK int value_read_text(const struct key *k, const char *text, const struct where *at,
			       void *base, struct err *e);
/* Frees what the value owns and leaves it unset. */
void value_done(const struct key *k, void *base);

/* The value as a user would write it.  value_read() of the result gives exactly the same value. */
json_t *value_show(const struct key *k, const void *base);

/* A JSON string.  If s is not UTF-8 (a directory's name may be any bytes), every non-ASCII byte
 * becomes '?'. */
json_t *value_text(const char *s);

static inline bool value_is_milli(enum value_type t)
{
	return t == VALUE_CPUS || t == VALUE_DECIMAL;
}

/* The number of a size, time, CPUs, ... in its unit: "2GiB", "1h30m", "0.5". */
enum { VALUE_TEXT_MAX = 64 };
const char *value_number(enum value_type t, int64_t v, char out[VALUE_TEXT_MAX]);

#endif
