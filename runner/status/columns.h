/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_COLUMNS_H
#define RUNNER_STATUS_COLUMNS_H

#include "base/buf.h"
#include "runner/status/row.h"

#include <stdbool.h>

/* A table of targets that fits a width: name, state, and as many figures as fit.  Drawn text is
 * escaped, so it cannot control the terminal. */

enum { COLUMN_TEXT = 64, COLUMNS_MAX = 16 };

struct column {
	const char *title;
	unsigned width; /* minimum width of the figure */
	unsigned rank;	/* 0 to COLUMNS_MAX - 1, unique: narrow screens show low ranks first */
	void (*text)(const struct target_row *r, char out[COLUMN_TEXT]);
};

struct columns {
	/* Set by the caller, borrowed. */
	const struct column *v; /* from left to right */
	size_t n;		/* at most COLUMNS_MAX */
	const char *state;	/* the second column's title */
	bool notes;		/* the last column has the notes */
	bool color;		/* colours the state */

	/* Set by columns_choose(). */
	unsigned width, name_width, state_width, note_width; /* bytes; note_width 0: no room */
	unsigned widths[COLUMNS_MAX];			     /* of the figures; none is cut */
	bool taken[COLUMNS_MAX];
};

/* Chooses columns for the rows of v; width 0: unlimited. */
void columns_choose(struct columns *c, const struct run_view *v, unsigned width);
/* Append one line each. */
void columns_head(const struct columns *c, struct buf *out);
void columns_row(const struct columns *c, const struct target_row *t, struct buf *out);
/* Appends any text as one line, escaped for terminals and cut to the width; 0: not cut. */
void columns_line(struct slice text, unsigned width, struct buf *out);

/* Columns that several tables share. */
void column_time(const struct target_row *r, char out[COLUMN_TEXT]);
void column_cpu(const struct target_row *r, char out[COLUMN_TEXT]);
void column_rate(const struct target_row *r, char out[COLUMN_TEXT]);
void column_ft(const struct target_row *r, char out[COLUMN_TEXT]);
void column_new(const struct target_row *r, char out[COLUMN_TEXT]);
void column_failures(const struct target_row *r, char out[COLUMN_TEXT]);

#endif
