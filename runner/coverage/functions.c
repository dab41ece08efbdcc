/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/coverage/functions.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A place of an edge: its own, or that of a call which was inlined. */
struct place {
	struct slice file, function;
	uint32_t line, edge;
	bool initial; /* it runs before the first input */
};

struct places {
	struct place *v;
	size_t n, cap;
};

enum { PLACES_MAX = 8 * FUNCTIONS_EDGES_MAX };

/* Lines first to last of one file. */
struct span {
	uint32_t first, last;
};

/* The functions of one file, by whether they are reached. */
struct spans {
	struct span *yes, *no;
	size_t n_yes, n_no;
};

/* --- the answers ------------------------------------------------------------- */

static bool is_address(struct slice line)
{
	return line.n > 2 && line.p[0] == '0' && line.p[1] == 'x';
}

/* "<path>:<line>:<column>", "<path>:<line>", "<path>:<line> (discriminator <n>)". */
static bool split_place(struct slice text, struct place *io)
{
	struct slice number = {text.p, 0};
	const char *note = text.n ? memmem(text.p, text.n, " (", 2) : NULL;
	uint64_t line = 0;

	if (note)
		text.n = (size_t)(note - text.p);
	for (int i = 0; i < 2; i++) {
		const char *colon = text.n ? memrchr(text.p, ':', text.n) : NULL;

		if (!colon)
			break;
		number = (struct slice){colon + 1, (size_t)(text.p + text.n - colon - 1)};
		if (!scan_u64(&number, 10, INT32_MAX, &line) || number.n > 0)
			break;
		io->line = (uint32_t)line; /* the first of two numbers */
		text.n = (size_t)(colon - text.p);
	}
	io->file = text;
	return io->line > 0 && text.n > 0 && *text.p != '?' && !memchr(text.p, '\0', text.n);
}

static int add_place(struct places *to, const struct place *p, struct err *e)
{
	if (to->n == PLACES_MAX)
		return err_set(e, E2BIG, "more than %d places of edges", PLACES_MAX);
	if (to->n == to->cap) {
		to->cap = to->cap ? to->cap * 2 : 1024;
		to->v = xreallocarray(to->v, to->cap, sizeof(*to->v));
	}
	to->v[to->n++] = *p;
	return 0;
}

/* Constructors of global variables, by clang's names for them. */
static bool is_initial(struct slice function)
{
	return slice_eq(function, SLICE("LLVMFuzzerInitialize")) ||
	       scan_lit(&function, SLICE("_GLOBAL__")) ||
	       scan_lit(&function, SLICE("__cxx_global_var_init"));
}

/* The address, then two lines a place, the innermost first; llvm-symbolizer ends it by an empty
 * line. */
static int read_edge(struct slice *io, uint32_t edge, struct places *to, struct err *e)
{
	size_t first = to->n;
	bool initial = false;
	struct slice line, rest;

	do {
		if (!scan_line(io, &line))
			return err_set(e, EBADMSG, "the symbolizer's answers end at edge %u", edge);
	} while (line.n == 0);
	if (!is_address(line))
		return err_set(e, EBADMSG, "no address in the answer for edge %u", edge);
	for (rest = *io; scan_line(&rest, &line) && line.n > 0 && !is_address(line); rest = *io) {
		struct place p = {.function = line, .edge = edge};

		*io = rest;
		initial = is_initial(p.function);
		if (!scan_line(io, &line))
			return err_set(e, EBADMSG, "edge %u has no line", edge);
		if (split_place(line, &p) && add_place(to, &p, e) < 0)
			return err_code(e);
	}
	for (; first < to->n; first++)
		to->v[first].initial = initial;
	return 0;
}

/* --- functions ----------------------------------------------------------------- */

static int compare_slices(struct slice a, struct slice b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int r = n ? memcmp(a.p, b.p, n) : 0;

	return r ? r : (a.n > b.n) - (a.n < b.n);
}

static int by_function(const void *x, const void *y)
{
	const struct place *a = x, *b = y;
	int r = compare_slices(a->file, b->file);

	return r ? r : compare_slices(a->function, b->function);
}

/* Adds the function that begins at place i; returns the place after it. */
static size_t add_function(const struct places *p, size_t i, const struct bits *reached,
			   struct spans *io)
{
	const struct place *first = &p->v[i];
	struct span s = {first->line, first->line};
	bool yes = false;

	for (; i < p->n && by_function(&p->v[i], first) == 0; i++) {
		uint32_t line = p->v[i].line;

		s.first = line < s.first ? line : s.first;
		s.last = line > s.last ? line : s.last;
		yes = yes || p->v[i].initial || bits_has(reached, p->v[i].edge);
	}
	if (yes && s.last - s.first >= FUNCTIONS_SPAN_MAX)
		s.last = s.first; /* the file is reached, but which lines is not known */
	if (yes)
		io->yes[io->n_yes++] = s;
	else if (s.last - s.first < FUNCTIONS_SPAN_MAX)
		io->no[io->n_no++] = s;
	return i;
}

static int by_first(const void *x, const void *y)
{
	const struct span *a = x, *b = y;

	return (a->first > b->first) - (a->first < b->first);
}

/* Sorts, and joins what overlaps. */
static size_t join_spans(struct span *v, size_t n)
{
	size_t to = 0;

	if (n > 0)
		qsort(v, n, sizeof(*v), by_first);
	for (size_t i = 0; i < n; i++)
		if (to == 0 || v[i].first > v[to - 1].last)
			v[to++] = v[i];
		else if (v[i].last > v[to - 1].last)
			v[to - 1].last = v[i].last;
	return to;
}

/* --- files ----------------------------------------------------------------------- */

static int add_line(struct lcov_file *f, size_t *records, uint32_t line, uint64_t count,
		    struct err *e)
{
	if ((*records)++ == LCOV_RECORDS_MAX)
		return err_set(e, E2BIG, "more than %d lines", LCOV_RECORDS_MAX);
	if ((f->n_lines & (f->n_lines - 1)) == 0) /* grows at powers of two */
		f->lines =
		    xreallocarray(f->lines, f->n_lines ? f->n_lines * 2 : 1, sizeof(*f->lines));
	f->lines[f->n_lines++] = (struct lcov_line){line, count};
	return 0;
}

static int by_line(const void *x, const void *y)
{
	const struct lcov_line *a = x, *b = y;

	return (a->line > b->line) - (a->line < b->line);
}

static int add_reached(const struct spans *s, struct lcov_file *f, size_t *records, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < s->n_yes; i++)
		for (uint32_t line = s->yes[i].first; r == 0 && line <= s->yes[i].last; line++)
			r = add_line(f, records, line, 1, e);
	return r;
}

/* Of two functions at the same line, the reached one counts. */
static int add_unreached(const struct spans *s, struct lcov_file *f, size_t *records, struct err *e)
{
	size_t yes = 0;
	int r = 0;

	for (size_t i = 0; i < s->n_no; i++)
		for (uint32_t line = s->no[i].first; r == 0 && line <= s->no[i].last; line++) {
			while (yes < s->n_yes && s->yes[yes].last < line)
				yes++;
			if (yes == s->n_yes || s->yes[yes].first > line)
				r = add_line(f, records, line, 0, e);
		}
	return r;
}

static int add_lines(const struct spans *s, struct lcov_file *f, size_t *records, struct err *e)
{
	int r = add_reached(s, f, records, e);

	if (r == 0)
		r = add_unreached(s, f, records, e);
	if (f->n_lines > 0)
		qsort(f->lines, f->n_lines, sizeof(*f->lines), by_line);
	return r;
}

/* Adds the file of place *io, and moves *io behind it. */
static int add_file(const struct places *p, size_t *io, const struct bits *reached, struct lcov *to,
		    size_t *records, struct err *e)
{
	struct slice path = p->v[*io].file;
	struct lcov_file f = {.path = xasprintf("%.*s", (int)path.n, path.p)};
	struct spans s = {0};
	size_t end = *io;
	int r;

	while (end < p->n && compare_slices(p->v[end].file, path) == 0)
		end++;
	s.yes = xcalloc(end - *io, sizeof(*s.yes));
	s.no = xcalloc(end - *io, sizeof(*s.no));
	while (*io < end)
		*io = add_function(p, *io, reached, &s);
	s.n_yes = join_spans(s.yes, s.n_yes);
	s.n_no = join_spans(s.no, s.n_no);
	r = add_lines(&s, &f, records, e);
	free(s.yes);
	free(s.no);
	to->v[to->n++] = f;
	return r;
}

static size_t count_files(const struct places *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += i == 0 || compare_slices(p->v[i].file, p->v[i - 1].file) != 0;
	return n;
}

int functions_lcov(struct slice answers, size_t edges, const struct bits *reached, struct lcov *ret,
		   struct err *e)
{
	struct places p = {0};
	struct lcov l = {0};
	size_t records = 0, at = 0;
	int r = edges <= FUNCTIONS_EDGES_MAX ? 0 : err_set(e, E2BIG, "too many edges");

	for (size_t i = 0; r == 0 && i < edges; i++)
		r = read_edge(&answers, (uint32_t)i, &p, e);
	if (r == 0 && p.n > 0)
		qsort(p.v, p.n, sizeof(*p.v), by_function);
	l.v = xcalloc(count_files(&p) + 1, sizeof(*l.v));
	while (r == 0 && at < p.n)
		r = add_file(&p, &at, reached, &l, &records, e);
	free(p.v);
	if (r < 0)
		lcov_done(&l);
	else
		*ret = l;
	return r;
}
