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

/* What is known while a listing is read. */
struct listing_reader {
	struct listing l;
	size_t cap;	       /* of l.v */
	struct listing_file f; /* the section; its path is NULL outside of one */
	size_t cap_lines;
	size_t lines; /* of all sections */
};

/* Keeps the section if it has lines, with no more memory than they need. */
static void listing_end_file(struct listing_reader *r)
{
	if (r->f.n > 0) {
		if (r->l.n == r->cap) {
			r->cap = r->cap ? r->cap * 2 : 16;
			r->l.v = xreallocarray(r->l.v, r->cap, sizeof(*r->l.v));
		}
		r->f.lines = xreallocarray(r->f.lines, r->f.n, sizeof(*r->f.lines));
		r->l.v[r->l.n++] = r->f;
	}
	r->f = (struct listing_file){.path = {NULL, 0}};
	r->cap_lines = 0;
}

static void listing_begin_file(struct listing_reader *r, struct slice path)
{
	listing_end_file(r);
	r->f.path = path;
}

static void listing_add_line(struct listing_reader *r, struct slice source)
{
	struct listing_file *f = &r->f;

	if (f->n == r->cap_lines) {
		r->cap_lines = r->cap_lines ? r->cap_lines * 2 : 256;
		f->lines = xreallocarray(f->lines, r->cap_lines, sizeof(*f->lines));
	}
	f->lines[f->n++] = source;
	r->lines++;
}

static int listing_compare_paths(struct slice a, struct slice b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int r = n > 0 ? memcmp(a.p, b.p, n) : 0;

	return r != 0 ? r : (a.n > b.n) - (a.n < b.n);
}

/* By path; sections of one path in the order of the text. */
static int listing_by_path(const void *a, const void *b)
{
	const struct listing_file *x = a, *y = b;
	int r = listing_compare_paths(x->path, y->path);

	return r != 0 ? r : (x->lines[0].p > y->lines[0].p) - (x->lines[0].p < y->lines[0].p);
}

void listing_parse(struct slice text, const char *only, struct listing *ret)
{
	struct listing_reader r = {0};
	struct slice line, source;

	if (only)
		listing_begin_file(&r, slice_of(only));
	while (scan_line(&text, &line) && r.lines < LISTING_LINES_MAX) {
		if (listing_is_header(line))
			listing_begin_file(&r, (struct slice){line.p, line.n - 1});
		else if (r.f.path.p && listing_take_line(line, r.f.n + 1, &source))
			listing_add_line(&r, source);
	}
	listing_end_file(&r);
	if (r.l.n > 0)
		qsort(r.l.v, r.l.n, sizeof(*r.l.v), listing_by_path);
	*ret = r.l;
}

const struct listing_file *listing_find(const struct listing *l, const char *path)
{
	struct slice wanted = slice_of(path);
	size_t from = 0, to = l->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (listing_compare_paths(l->v[mid].path, wanted) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from < l->n && slice_eq(l->v[from].path, wanted) ? &l->v[from] : NULL;
}

struct slice listing_line(const struct listing_file *f, uint32_t line)
{
	return f && line > 0 && line <= f->n ? f->lines[line - 1] : SLICE("");
}
