/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_COLUMNS_H
#define RUNNER_STATUS_COLUMNS_H

#include "base/buf.h"
#include "runner/status/row.h"

#include <stdbool.h>

/* A table of targets that fits a width: its name, its state, and as many figures as there is room
 * for.  What is drawn is escaped: nothing in it is obeyed by a terminal. */

enum { COLUMN_TEXT = 64, COLUMNS_MAX = 16 };

struct column {
	const char *title;
	unsigned width; /* of the figure, at least */
	unsigned rank;	/* 0 to COLUMNS_MAX - 1, all different: what a narrow screen shows first */
	void (*text)(const struct target_row *r, char out[COLUMN_TEXT]);
};

struct columns {
	/* The caller's, borrowed. */
	const struct column *v; /* from left to right */
	size_t n;		/* at most COLUMNS_MAX */
	const char *state;	/* the second column's title */
	bool notes;		/* the last column is what there is to say */
	bool color;		/* of the state */

	/* columns_choose()'s. */
	unsigned width, name_width, state_width, note_width; /* bytes; note_width 0: no room */
	unsigned widths[COLUMNS_MAX];			     /* of the figures: none is cut */
	bool taken[COLUMNS_MAX];
};

/* For the rows of v; width 0: as wide as it takes. */
void columns_choose(struct columns *c, const struct run_view *v, unsigned width);
/* A line each. */
MUST_CHECK int columns_head(const struct columns *c, struct buf *out, struct err *e);
MUST_CHECK int columns_row(const struct columns *c, const struct target_row *r, struct buf *out,
			   struct err *e);
/* Any text as one line that no terminal obeys, cut to the width; 0: all of it. */
MUST_CHECK int columns_line(struct slice text, unsigned width, struct buf *out, struct err *e);

/* What the tables have in common. */
void column_time(const struct target_row *r, char out[COLUMN_TEXT]);
void column_cpu(const struct target_row *r, char out[COLUMN_TEXT]);
void column_rate(const struct target_row *r, char out[COLUMN_TEXT]);
void column_ft(const struct target_row *r, char out[COLUMN_TEXT]);
void column_new(const struct target_row *r, char out[COLUMN_TEXT]);
void column_failures(const struct target_row *r, char out[COLUMN_TEXT]);

#endif
