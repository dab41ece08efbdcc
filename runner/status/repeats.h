/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_REPEATS_H
#define RUNNER_STATUS_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A target that fails in the same way again and again is shown once, and then as a number. */

enum { REPEATS_TEXT = 300 };

struct repeats {
	struct repeat *v; /* of each row; NULL: not needed so far */
	size_t n;
};

/* Something happened to a row, what and note as in struct target_row; n_rows: all of them.
 * False: it is counted and need not be shown.  unsaid: what was counted and has to be shown before
 * it, as what happened ("failed 9 more times: ..."); "": nothing.  Without memory all is shown. */
bool repeats_take(struct repeats *r, size_t n_rows, size_t row, const char *what, const char *note,
		  char unsaid[REPEATS_TEXT]);
/* What was counted for a row since the last time; "": nothing. */
void repeats_unsaid(struct repeats *r, size_t row, char unsaid[REPEATS_TEXT]);
void repeats_done(struct repeats *r);

#endif
