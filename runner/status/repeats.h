/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_REPEATS_H
#define RUNNER_STATUS_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A failure of a target that repeats in the same way is shown once, then as a count. */

enum { REPEATS_TEXT = 300 };

struct repeats {
	struct repeat *v; /* one for each row; NULL: not yet needed */
	size_t n;
};

/* Handles an event of a row; what and note as in table_event() and struct target_row; n_rows:
 * the number of all rows.  False: the event is counted and need not be shown.  unsaid: the
 * counted failures to show first, as an event text ("failed 9 more times: ..."); "": none.
 * Without memory all events are shown. */
bool repeats_take(struct repeats *r, size_t n_rows, size_t row, const char *what, const char *note,
		  char unsaid[REPEATS_TEXT]);
/* The failures of a row counted since the last call; "": none. */
void repeats_unsaid(struct repeats *r, size_t row, char unsaid[REPEATS_TEXT]);
void repeats_done(struct repeats *r);

#endif
