/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_COLOR_H
#define RUNNER_STATUS_COLOR_H

#include "base/buf.h"

#include <stdbool.h>

/* Colour on terminals, for words that say in which state something is. */

enum color { COLOR_NONE, COLOR_GOOD, COLOR_DOUBT, COLOR_BAD, COLOR_DIM, COLOR_COUNT };

/* As --color says: "auto", "always" or "never"; false: it is none of them.  auto, the default: on
 * a terminal that is not "dumb", unless $NO_COLOR is set and not empty. */
bool color_set(const char *when);
bool color_wanted(int fd);

/* Of "new", "fixed", ..., of a crash; of "ok", "warning", ..., of a finding. */
enum color color_of_crash(const char *state);
enum color color_of_severity(const char *severity);

/* word, which is fit for a terminal, with or without its colour. */
MUST_CHECK int color_add(enum color c, struct slice word, struct buf *out, struct err *e);
/* The same on standard output, if it is wanted there. */
void color_print(enum color c, const char *word);

#endif
