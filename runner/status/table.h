/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_TABLE_H
#define RUNNER_STATUS_TABLE_H

#include "base/buf.h"
#include "runner/status/repeats.h"
#include "runner/status/row.h"

#include <stdbool.h>

/* The live view: on a terminal a table that is redrawn in place once a second,
 * elsewhere a plain line for each event.  Failures that repeat are a line with their number. */
struct table {
	int fd;
	bool terminal, color;
	unsigned drawn; /* lines on the screen that the next drawing replaces */
	unsigned seconds;
	struct repeats repeats;
};

void table_open(struct table *t, int fd, bool plain);
/* row SIZE_MAX: about the run. */
void table_event(struct table *t, const struct run_view *v, size_t row, const char *what);
void table_second(struct table *t, const struct run_view *v);
/* Removes the live table from the screen. */
void table_close(struct table *t);

/* How much of it fits; a usual size where fd is no terminal. */
void table_screen(int fd, unsigned *columns, unsigned *lines);

/* One drawing: a line about the run, titles and at most lines-2 targets (what runs first).  No
 * line is longer than columns; the wider the screen, the more figures.  columns 0: all of them.
 * Pure, for the tests. */
MUST_CHECK int table_draw(const struct run_view *v, unsigned columns, unsigned lines, bool color,
			  struct buf *out, unsigned *ret_lines, struct err *e);

#endif
