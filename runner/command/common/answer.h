/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_ANSWER_H
#define RUNNER_COMMAND_COMMON_ANSWER_H

#include "base/json.h"

#include <stdbool.h>

/* What a command prints with --json: one value on standard output, and nothing else there.
 * docs/json.md has the shape of each. */

/* Until answer_end(), standard output goes to standard error, with all that is there for people.
 * Returns what to give to answer_end(); json false: nothing changes. */
int answer_begin(bool json);
/* Prints take (NULL: there is no answer, as after wrong usage), if there was an answer_begin() for
 * it, and frees it.  Returns status, or another exit status when the answer did not go out. */
int answer_end(int begun, json_t *take, int status);

/* Prints j, which is borrowed, over several lines.  Returns an exit status. */
int answer_print(const json_t *j);

/* Names of files are any bytes, JSON is UTF-8: a string that is none is escaped.  NULL: out of
 * memory. */
json_t *answer_text(const char *s);

#endif
