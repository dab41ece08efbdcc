/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_READING_H
#define RUNNER_CONFIG_READING_H

#include "runner/config/value.h"

/* The inside of value_read(): one reader per type. */

struct reading {
	const struct key *k;
	const struct where *at;
	const struct places *places; /* NULL: not from a file */
	uint32_t id;
};

/* Stores v at to, or fails and leaves to as it is. */
typedef int reader_fn(const struct reading *r, json_t *v, void *to, struct err *e);
reader_fn read_choice, read_path, read_text, read_list;

/* "\"2 apples\" is not a size (use ...)" */
int reading_wrong(const struct reading *r, const json_t *v, struct err *e);
/* The value as written in the file, for a message.  Returns out or a constant. */
const char *reading_text(const json_t *v, char out[QUOTE_MAX]);

#endif
