/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ROUNDS_LINES_H
#define RUNNER_ROUNDS_LINES_H

#include "base/err.h"
#include "base/json.h"

/* Adds lines to a history (a file of a line of JSON each) in order of their time: *ret is its new
 * text (free() it).  A line that is there already is not added again, and a damaged one stays as it
 * is; without a known time a line comes first.  The same lines give the same text, in whatever
 * order they came. */
MUST_CHECK int lines_join(int state_dirfd, const char *path, const json_t *lines, size_t most,
			  char **ret, size_t *ret_n, struct err *e);

#endif
