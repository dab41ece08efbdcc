/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_ANSWER_H
#define RUNNER_COMMAND_COMMON_ANSWER_H

#include "base/json.h"
#include "base/units.h"

#include <stdbool.h>

/* With --json, a command prints one JSON value and nothing else on standard output. docs/json.md
 * describes the value of each command. */

/* Redirects standard output, with all text for users, to standard error until answer_end(). Returns
 * the argument for answer_end(). json false: changes nothing. */
int answer_begin(bool json);
/* Restores standard output, prints take if answer_begin() redirected the output, and frees take.
 * take NULL: prints nothing, for example after wrong usage. Returns status, or another exit status
 * if the answer could not be written. */
int answer_end(int begun, json_t *take, int status);

/* Prints j, indented, or in one line. j is borrowed. Returns an exit status. */
int answer_print(const json_t *j);
int answer_print_line(const json_t *j);

/* Makes a JSON string. File names are arbitrary bytes but JSON is UTF-8, so invalid UTF-8 is
 * escaped. */
json_t *answer_text(const char *s);

/* Formats a number of a JSON object for a table: as time ("1h02m", from seconds), rounded ("1.5M"),
 * or exact. Writes "-" if there is no number, because unknown differs from 0. The functions return
 * out. */
const char *known_time(const json_t *o, const char *key, char out[UNITS_MAX]);
const char *known_count(const json_t *o, const char *key, char out[UNITS_MAX]);
const char *known_exact(const json_t *o, const char *key, char out[UNITS_MAX]);

#endif
