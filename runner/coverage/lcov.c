/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/coverage/lcov.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>

enum { NEARBY = 64, ROOM_FIRST = 16 };

/* What is known while a tracefile is read. */
struct lcov_reader {
	struct lcov l;
	struct lcov_file *file; /* the section; NULL: outside of one */
	size_t cap_files, cap_lines, cap_functions, cap_branches;
	size_t records;
	uint64_t block;	  /* of the branch that was read last */
	uint32_t at;	  /* its line */
	bool half;	  /* its second outcome has yet to come */
	size_t next_fnda; /* the function that the next FNDA most likely names */
};

static void lcov_file_done(struct lcov_file *f)
{
	for (size_t i = 0; i < f->n_functions; i++)
		free(f->functions[i].name);
	free(f->functions);
	free(f->lines);
	free(f->branches);
	free(f->path);
}

void lcov_done(struct lcov *l)
{
	for (size_t i = 0; i < l->n; i++)
		lcov_file_done(&l->v[i]);
	free(l->v);
	*l = (struct lcov){0};
}

/* --- one record ---------------------------------------------------------------- */

/* The part of a name that is kept: it ends at a NUL byte. */
static struct slice lcov_name(struct slice s)
{
	size_t n = s.n < LCOV_NAME_MAX ? s.n : LCOV_NAME_MAX;
	const char *end = n > 0 ? memchr(s.p, '\0', n) : NULL;

	return (struct slice){s.p, end ? (size_t)(end - s.p) : n};
}

static char *lcov_text(struct slice s)
{
	struct slice name = lcov_name(s);

	return xasprintf("%.*s", (int)name.n, name.p);
}

/* Grows an array to hold one element more. */
static void *lcov_room(void *v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return v;
	*cap = *cap ? *cap * 2 : ROOM_FIRST;
	return xreallocarray(v, *cap, size);
}

/* Gives back what an array has more than its n elements. */
static void *lcov_fit(void *v, size_t n, size_t size)
{
	return n > 0 ? xreallocarray(v, n, size) : v;
}

static bool lcov_begin_file(struct lcov_reader *r, struct slice path)
{
	struct lcov *l = &r->l;

	if (r->file || lcov_name(path).n == 0 || ++r->records > LCOV_RECORDS_MAX)
		return false;
	l->v = lcov_room(l->v, l->n, &r->cap_files, sizeof(*l->v));
	r->file = &l->v[l->n++];
	*r->file = (struct lcov_file){.path = lcov_text(path)};
	r->cap_lines = r->cap_functions = r->cap_branches = r->next_fnda = 0;
	r->half = false;
	return true;
}

static bool lcov_comma(struct slice *io)
{
	return scan_lit(io, SLICE(","));
}

static bool lcov_number(struct slice *io, uint32_t *ret)
{
	uint64_t n;

	if (!scan_u64(io, 10, UINT32_MAX - 1, &n))
		return false;
	*ret = (uint32_t)n;
	return true;
}

/* "FN:line,name"; newer tools may write the last line as well: "FN:line,end,name". */
static bool lcov_read_function(struct lcov_reader *r, struct slice s)
{
	struct lcov_file *f = r->file;
	struct lcov_function fn = {0};
	struct slice rest;
	uint32_t end;

	if (!lcov_number(&s, &fn.line) || !lcov_comma(&s))
		return false;
	rest = s;
	if (lcov_number(&rest, &end) && lcov_comma(&rest))
		s = rest;
	if (s.n == 0)
		return false;
	f->functions =
	    lcov_room(f->functions, f->n_functions, &r->cap_functions, sizeof(*f->functions));
	fn.name = lcov_text(s);
	f->functions[f->n_functions++] = fn;
	return true;
}

/* "FNDA:count,name", in the order of the FN records.  A name without an FN nearby is ignored. */
static bool lcov_read_count(struct lcov_reader *r, struct slice s)
{
	struct lcov_file *f = r->file;
	struct slice name;
	uint64_t count;

	if (!scan_u64(&s, 10, UINT64_MAX, &count) || !lcov_comma(&s))
		return false;
	name = lcov_name(s);
	for (size_t i = 0; i < f->n_functions && i < NEARBY; i++) {
		size_t at = (r->next_fnda + i) % f->n_functions;

		if (!slice_eq(slice_of(f->functions[at].name), name))
			continue;
		f->functions[at].count = count;
		r->next_fnda = at + 1;
		break;
	}
	return true;
}

/* "DA:line,count". */
static bool lcov_read_line(struct lcov_reader *r, struct slice s)
{
	struct lcov_file *f = r->file;
	struct lcov_line line;

	if (!lcov_number(&s, &line.line) || !lcov_comma(&s) ||
	    !scan_u64(&s, 10, UINT64_MAX, &line.count))
		return false;
	f->lines = lcov_room(f->lines, f->n_lines, &r->cap_lines, sizeof(*f->lines));
	f->lines[f->n_lines++] = line;
	return true;
}

/* Removes a condition with only one outcome in the text: nothing is known about the other. */
static void lcov_drop_half(struct lcov_reader *r)
{
	if (r->half)
		r->file->n_branches--;
	r->half = false;
}

/* "BRDA:line,block,branch,taken": two records for a condition, true and false.  "-": it was never
 * evaluated. */
static bool lcov_read_branch(struct lcov_reader *r, struct slice s)
{
	struct lcov_file *f = r->file;
	uint64_t block, number, taken = 0;
	uint32_t line;

	if (!lcov_number(&s, &line) || !lcov_comma(&s) || !scan_u64(&s, 10, UINT64_MAX, &block) ||
	    !lcov_comma(&s) || !scan_u64(&s, 10, UINT64_MAX, &number) || !lcov_comma(&s) ||
	    (!scan_lit(&s, SLICE("-")) && !scan_u64(&s, 10, UINT64_MAX, &taken)))
		return false;
	if (r->half && line == r->at && block == r->block) {
		f->branches[f->n_branches - 1].no = taken;
		r->half = false;
		return true;
	}
	lcov_drop_half(r);
	f->branches = lcov_room(f->branches, f->n_branches, &r->cap_branches, sizeof(*f->branches));
	f->branches[f->n_branches++] = (struct lcov_branch){.line = line, .yes = taken};
	r->at = line;
	r->block = block;
	r->half = true;
	return true;
}

/* --- the end of a file ---------------------------------------------------------- */

static int lcov_by_line(const void *a, const void *b)
{
	const struct lcov_line *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

static int lcov_by_start(const void *a, const void *b)
{
	const struct lcov_function *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* A line that is listed twice was reached if one of the two was. */
static void lcov_join_lines(struct lcov_file *f)
{
	size_t n = 0;

	qsort(f->lines, f->n_lines, sizeof(*f->lines), lcov_by_line);
	for (size_t i = 0; i < f->n_lines; i++) {
		if (n == 0 || f->lines[n - 1].line != f->lines[i].line)
			f->lines[n++] = f->lines[i];
		else if (f->lines[n - 1].count < f->lines[i].count)
			f->lines[n - 1].count = f->lines[i].count;
	}
	f->n_lines = n;
}

static bool lcov_end_file(struct lcov_reader *r)
{
	struct lcov_file *f = r->file;

	if (!f)
		return false;
	lcov_drop_half(r);
	if (f->n_lines > 0)
		lcov_join_lines(f);
	if (f->n_functions > 0)
		qsort(f->functions, f->n_functions, sizeof(*f->functions), lcov_by_start);
	f->lines = lcov_fit(f->lines, f->n_lines, sizeof(*f->lines));
	f->functions = lcov_fit(f->functions, f->n_functions, sizeof(*f->functions));
	f->branches = lcov_fit(f->branches, f->n_branches, sizeof(*f->branches));
	r->file = NULL;
	return true;
}

/* --- the text --------------------------------------------------------------------- */

static bool lcov_read_record(struct lcov_reader *r, struct slice line)
{
	static const struct {
		struct slice word;
		bool (*read)(struct lcov_reader *r, struct slice rest);
	} records[] = {
	    {{"DA:", 3}, lcov_read_line},
	    {{"BRDA:", 5}, lcov_read_branch},
	    {{"FNDA:", 5}, lcov_read_count},
	    {{"FN:", 3}, lcov_read_function},
	};

	if (line.n == 0 || scan_lit(&line, SLICE("TN:")))
		return true;
	if (scan_lit(&line, SLICE("SF:")))
		return lcov_begin_file(r, line);
	if (slice_eq(line, SLICE("end_of_record")))
		return lcov_end_file(r);
	if (!r->file)
		return false;
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		if (scan_lit(&line, records[i].word))
			return ++r->records <= LCOV_RECORDS_MAX && records[i].read(r, line);
	return true; /* sums, and what newer tools may add */
}

int lcov_parse(struct slice text, struct lcov *ret, struct err *e)
{
	struct lcov_reader r = {0};
	struct slice line;
	size_t at = 0;

	while (scan_line(&text, &line)) {
		at++;
		if (lcov_read_record(&r, line))
			continue;
		lcov_done(&r.l);
		return err_set(e, EBADMSG, "the tracefile of llvm-cov, line %zu", at);
	}
	if (r.file || text.n > 0) {
		lcov_done(&r.l);
		return err_set(e, EBADMSG, "the tracefile of llvm-cov is cut at line %zu", at);
	}
	*ret = r.l;
	return 0;
}

const struct lcov_function *lcov_function_at(const struct lcov_file *f, uint32_t line)
{
	size_t from = 0, to = f->n_functions;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (f->functions[mid].line <= line)
			from = mid + 1;
		else
			to = mid;
	}
	return from > 0 ? &f->functions[from - 1] : NULL;
}

uint32_t lcov_function_end(const struct lcov_file *f, const struct lcov_function *fn)
{
	for (const struct lcov_function *p = fn; p < f->functions + f->n_functions; p++)
		if (p->line > fn->line)
			return p->line - 1;
	return UINT32_MAX;
}
