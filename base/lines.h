/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include "base/scan.h"

/* Cuts a stream into lines with bounded memory.  A longer line is delivered cut
 * to LINES_MAX bytes, once; the rest of it up to its newline is counted as
 * dropped.  No allocation. */
enum { LINES_MAX = 8192 };

struct lines {
	char b[LINES_MAX];
	size_t n;
	bool skipping;
	uint64_t dropped; /* bytes */
};

typedef void line_fn(void *arg, struct slice line);

void lines_feed(struct lines *l, struct slice bytes, line_fn *fn, void *arg);
/* The last line when the stream ended without a newline. */
void lines_end(struct lines *l, line_fn *fn, void *arg);

#endif
