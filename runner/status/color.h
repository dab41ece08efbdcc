/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_COLOR_H
#define RUNNER_STATUS_COLOR_H

#include "base/buf.h"

#include <stdbool.h>

/* Colours on terminals, for words that name a state. */

enum color { COLOR_NONE, COLOR_GOOD, COLOR_DOUBT, COLOR_BAD, COLOR_DIM, COLOR_COUNT };

/* Sets the mode of --color: "auto", "always" or "never"; false: it is none of them.  "auto" is
 * the default: colours on a terminal that is not "dumb", unless $NO_COLOR is set and not empty. */
bool color_set(const char *when);
bool color_wanted(int fd);

/* The colour of a crash's state ("new", "fixed", ...), and of a finding's severity ("ok",
 * "warning", ...). */
enum color color_of_crash(const char *state);
enum color color_of_severity(const char *severity);

/* Appends word, which must be safe for a terminal, with or without its colour. */
void color_add(enum color c, struct slice word, struct buf *out);
/* Prints word to standard output, with its colour if wanted there. */
void color_print(enum color c, const char *word);

#endif
