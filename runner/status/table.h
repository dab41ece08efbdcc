/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_TABLE_H
#define RUNNER_STATUS_TABLE_H

#include "base/buf.h"
#include "runner/status/row.h"

#include <stdbool.h>
#include <stddef.h>

/* The live view.  On a terminal: a table that is redrawn in place once a second.  Elsewhere: a
 * plain line for each event.  Repeated failures become one line with their number. */
struct table {
	int fd;
	bool terminal, color;
	unsigned drawn; /* lines on the screen that the next redraw replaces */
	unsigned seconds;
	struct repeats {
		struct repeat *v; /* one for each row; NULL: not yet needed */
		size_t n;
	} repeats;
};

void table_open(struct table *t, int fd, bool plain);
/* row SIZE_MAX: an event of the run. */
void table_event(struct table *t, const struct run_view *v, size_t row, const char *what);
void table_second(struct table *t, const struct run_view *v);
/* Removes the live table from the screen. */
void table_close(struct table *t);

/* The size of the screen; a default where fd is not a terminal. */
void table_screen(int fd, unsigned *columns, unsigned *lines);

/* Draws the table once: a line about the run, titles, and at most lines-2 targets (running ones
 * first).  No line is longer than `columns`; wider screens show more figures.  columns 0: all
 * figures.  Pure, for the tests. */
MUST_CHECK int table_draw(const struct run_view *v, unsigned columns, unsigned lines, bool color,
			  struct buf *out, unsigned *ret_lines, struct err *e);

#endif
