/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/coverage/listing.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void listing_done(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].lines);
	free(l->v);
	*l = (struct listing){0};
}

static struct listing_file *listing_begin(struct listing *l, struct slice path)
{
	l->v = xreallocarray(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n] = (struct listing_file){.path = path};
	return &l->v[l->n++];
}

/* "   7|      3|text": the lines of a file come in their order. */
static bool listing_take_line(struct slice line, uint64_t next, struct slice *ret)
{
	struct slice count;
	uint64_t number;

	scan_blanks(&line);
	if (!scan_u64(&line, 10, LISTING_LINES_MAX, &number) || number != next ||
	    !scan_lit(&line, SLICE("|")))
		return false;
	/* "|" ends the count, which is short: "18.4E". */
	if (!scan_until(&line, '|', 32, &count) || !scan_lit(&line, SLICE("|")))
		return false;
	*ret = line;
	return true;
}

static bool listing_is_header(struct slice line)
{
	return line.n > 2 && line.p[0] == '/' && line.p[line.n - 1] == ':';
}

void listing_parse(struct slice text, const char *only, struct listing *ret)
{
	struct listing_file *f = NULL;
	struct slice line, source;
	size_t cap = 0, lines = 0;

	*ret = (struct listing){0};
	if (only)
		f = listing_begin(ret, slice_of(only));
	while (scan_line(&text, &line) && lines < LISTING_LINES_MAX) {
		if (listing_is_header(line)) {
			f = listing_begin(ret, (struct slice){line.p, line.n - 1});
			cap = 0;
		} else if (f && listing_take_line(line, f->n + 1, &source)) {
			if (f->n == cap) {
				cap = cap ? cap * 2 : 256;
				f->lines = xreallocarray(f->lines, cap, sizeof(*f->lines));
			}
			f->lines[f->n++] = source;
			lines++;
		}
	}
}

const struct listing_file *listing_find(const struct listing *l, const char *path)
{
	/* An empty file stands for the one of a listing that has headers after all. */
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].n > 0 && slice_eq(l->v[i].path, slice_of(path)))
			return &l->v[i];
	return NULL;
}

struct slice listing_line(const struct listing_file *f, uint32_t line)
{
	return f && line > 0 && line <= f->n ? f->lines[line - 1] : SLICE("");
}
