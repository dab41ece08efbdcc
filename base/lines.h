/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include "base/scan.h"

/* Cuts a stream into lines with bounded memory.  Only the first LINES_MAX bytes of a longer line
 * are delivered; the rest up to its newline counts as dropped.  With `ends` the last LINES_END
 * bytes of such a line are delivered as a second line, because engines write reports without a
 * newline before them.  No allocation. */
enum { LINES_MAX = 8192, LINES_END = 512 };

struct lines {
	char b[LINES_MAX];
	size_t n;
	bool ends, skipping;
	uint64_t dropped; /* bytes */
};

typedef void line_fn(void *arg, struct slice line);

/* Appends part to the n bytes in b, which has room for cap.  When they do not fit, only the last
 * bytes are kept, at least LINES_END.  Returns the new n. */
size_t lines_keep_end(char *b, size_t n, size_t cap, struct slice part);

/* Copies the line to out without terminal colours ("\033[1m") and other escape characters, cut to
 * cap bytes. */
struct slice lines_without_colours(struct slice line, char *out, size_t cap);

void lines_feed(struct lines *l, struct slice bytes, line_fn *fn, void *arg);
/* Delivers the last line when the stream ended without a newline. */
void lines_end(struct lines *l, line_fn *fn, void *arg);

#endif
