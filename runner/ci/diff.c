/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/ci/diff.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void diff_done(struct diff *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->v[i].path);
		free(d->v[i].hunks);
	}
	free(d->v);
	*d = (struct diff){0};
}

/* --- names ------------------------------------------------------------------- */

static bool unquote_octal(struct slice *in, char *ret)
{
	unsigned n = 0;

	for (int i = 0; i < 3; i++) {
		if (in->n == 0 || *in->p < '0' || *in->p > '7')
			return false;
		n = n * 8 + (unsigned)(*in->p - '0');
		in->p++;
		in->n--;
	}
	*ret = (char)n;
	return n > 0 && n < 256;
}

static bool unquote_one(struct slice *in, char *ret)
{
	static const char from[] = "abtnvfr\"\\", to[] = "\a\b\t\n\v\f\r\"\\";
	const char *at;

	if (in->n == 0)
		return false;
	at = memchr(from, *in->p, sizeof(from) - 1);
	if (!at)
		return unquote_octal(in, ret);
	*ret = to[at - from];
	in->p++;
	in->n--;
	return true;
}

/* A name, in quotes like a string of C if it has special characters.  NULL: it is none. */
static char *name_of(struct slice in)
{
	char *name, *out;

	if (in.n > 0 && in.p[in.n - 1] == '\t') /* git puts it behind a name with blanks */
		in.n--;
	if (in.n == 0 || in.n > DIFF_PATH_MAX)
		return NULL;
	if (*in.p != '"')
		return xstrndup(in.p, in.n);
	name = out = xcalloc(in.n, 1);
	in.p++;
	in.n--;
	while (in.n > 0 && *in.p != '"') {
		if (*in.p != '\\') {
			*out++ = *in.p;
			in.p++;
			in.n--;
			continue;
		}
		in.p++;
		in.n--;
		if (!unquote_one(&in, out++)) {
			free(name);
			return NULL;
		}
	}
	return name;
}

/* --- the text ---------------------------------------------------------------- */

struct parsing {
	struct diff d;
	size_t hunks, cap;
	uint64_t skip; /* lines of a hunk's content */
	char *old;     /* "--- <old>"; NULL: not seen, or /dev/null */
	bool added, opaque, link;
};

static int add_file(struct parsing *p, struct slice new_name, struct err *e)
{
	char *new = name_of(new_name);
	bool gone = new &&strcmp(new, "/dev/null") == 0;

	if (p->d.n == DIFF_FILES_MAX) {
		free(new);
		return err_set(e, E2BIG, "more than %d changed files", DIFF_FILES_MAX);
	}
	if (!p->old && (!new || gone)) {
		free(new);
		return err_set(e, EBADMSG, "a file of the diff has no name");
	}
	p->d.v = xreallocarray(p->d.v, p->d.n + 1, sizeof(*p->d.v));
	p->d.v[p->d.n++] = (struct diff_file){.path = p->old ? p->old : xstrdup(new),
					      .added = p->added,
					      .opaque = p->opaque,
					      .link = p->link};
	p->old = NULL;
	p->opaque = p->link = false;
	p->cap = 0;
	free(new);
	return 0;
}

/* "<first>" or "<first>,<count>"; the count is 1 then. */
static bool take_range(struct slice *line, uint64_t *ret_first, uint64_t *ret_count)
{
	*ret_count = 1;
	if (!scan_u64(line, 10, UINT32_MAX, ret_first))
		return false;
	return !scan_lit(line, SLICE(",")) || scan_u64(line, 10, UINT32_MAX, ret_count);
}

/* "@@ -<range> +<range> @@..." */
static int add_hunk(struct parsing *p, struct slice line, struct err *e)
{
	uint64_t first, count, to, added;
	struct diff_file *f = p->d.n ? &p->d.v[p->d.n - 1] : NULL;

	if (!f || !take_range(&line, &first, &count) || !scan_lit(&line, SLICE(" +")) ||
	    !take_range(&line, &to, &added) || first + count > UINT32_MAX)
		return err_set(e, EBADMSG, "a hunk of the diff has no lines");
	if (p->hunks++ == DIFF_HUNKS_MAX)
		return err_set(e, E2BIG, "more than %d changed places", DIFF_HUNKS_MAX);
	if (f->n == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 4;
		f->hunks = xreallocarray(f->hunks, p->cap, sizeof(*f->hunks));
	}
	f->hunks[f->n++] = count
			       ? (struct diff_hunk){(uint32_t)first, (uint32_t)(first + count - 1)}
			       : (struct diff_hunk){(uint32_t)first + 1, (uint32_t)first};
	p->skip = count + added;
	return 0;
}

/* A file without changed lines: its mode, its name, or its binary content. */
static int end_header(struct parsing *p, struct err *e)
{
	return p->old ? add_file(p, SLICE("/dev/null"), e) : 0;
}

/* "index 1f0c..2a3b 160000": a submodule.  120000: a symbolic link. */
static bool has_mode(struct slice line, const char mode[8])
{
	return line.n > 7 && memcmp(line.p + line.n - 7, mode, 7) == 0;
}

/* "Binary files <old> and <new> differ": the names are those of the header, which are ambiguous
 * with blanks in them, so the old name counts up to " and ". */
static int take_binary(struct parsing *p, struct slice names, struct err *e)
{
	const char *end = names.n ? memmem(names.p, names.n, " and ", 5) : NULL;
	struct slice old = {names.p, end ? (size_t)(end - names.p) : 0};
	struct slice new = {end ? end + 5 : names.p, end ? names.n - old.n - 5 : 0};

	if (new.n > 7)
		new.n -= 7; /* " differ" */
	free(p->old);
	p->old = slice_eq(old, SLICE("/dev/null")) ? NULL : name_of(old);
	p->opaque = true;
	return add_file(p, new, e);
}

static int take_line(struct parsing *p, struct slice line, struct err *e)
{
	if (p->skip > 0 && line.n > 0 && (*line.p == '+' || *line.p == '-')) {
		p->skip--;
		return 0;
	}
	if (scan_lit(&line, SLICE("diff --git "))) {
		p->opaque = p->link = false;
		return end_header(p, e);
	}
	if (scan_lit(&line, SLICE("@@ -")))
		return add_hunk(p, line, e);
	if (scan_lit(&line, SLICE("Binary files ")))
		return take_binary(p, line, e);
	if (scan_lit(&line, SLICE("index ")) || scan_lit(&line, SLICE("new file mode"))) {
		p->opaque |= has_mode(line, " 160000");
		p->link |= p->opaque || has_mode(line, " 120000");
	}
	if (scan_lit(&line, SLICE("rename from ")) || scan_lit(&line, SLICE("--- "))) {
		free(p->old);
		p->old = name_of(line);
		p->added = p->old && strcmp(p->old, "/dev/null") == 0;
		if (p->added) {
			free(p->old);
			p->old = NULL;
		}
		return 0;
	}
	return scan_lit(&line, SLICE("+++ ")) ? add_file(p, line, e) : 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct diff_file *)a)->path, ((const struct diff_file *)b)->path);
}

int diff_parse(struct slice text, struct diff *ret, struct err *e)
{
	struct parsing p = {.old = NULL};
	struct slice line;
	int r = 0;

	while (r == 0 && scan_line(&text, &line))
		r = take_line(&p, line, e);
	if (r == 0)
		r = end_header(&p, e);
	free(p.old);
	if (r < 0) {
		diff_done(&p.d);
		return r;
	}
	if (p.d.n > 0)
		qsort(p.d.v, p.d.n, sizeof(*p.d.v), by_path);
	*ret = p.d;
	return 0;
}

/* --- questions --------------------------------------------------------------- */

static int has_path(const void *key, const void *file)
{
	return strcmp(key, ((const struct diff_file *)file)->path);
}

const struct diff_file *diff_find(const struct diff *d, const char *path)
{
	return d->n ? bsearch(path, d->v, d->n, sizeof(*d->v), has_path) : NULL;
}

bool diff_touches(const struct diff_file *f, uint32_t line)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct diff_hunk *h = &f->hunks[i];
		bool nothing = h->last < h->first;

		if (nothing ? line == h->first || line == h->last
			    : line >= h->first && line <= h->last)
			return true;
	}
	return false;
}
