/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/ci/affected.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <string.h>
#include <strings.h>

/* Changed files up to which relative paths are compared with each. */
enum { RELATIVE_MAX = 1000 };

/* The index of the first record at or behind the line. */
static size_t first_from(const struct lcov_file *c, uint32_t line)
{
	size_t low = 0, high = c->n_lines;

	while (low < high) {
		size_t at = low + (high - low) / 2;

		if (c->lines[at].line < line)
			low = at + 1;
		else
			high = at;
	}
	return low;
}

/* -1: there is no record of the line. */
static int64_t count_of(const struct lcov_file *c, uint32_t line)
{
	size_t at = first_from(c, line);

	return at < c->n_lines && c->lines[at].line == line ? c->lines[at].count > 0 : -1;
}

static bool is_reached(const struct lcov_file *c)
{
	for (size_t i = 0; i < c->n_lines; i++)
		if (c->lines[i].count > 0)
			return true;
	return false;
}

static bool has_ending(const char *path, const char *const *endings)
{
	const char *dot = strrchr(path, '.');

	for (; dot && *endings; endings++)
		if (strcasecmp(dot + 1, *endings) == 0)
			return true;
	return false;
}

/* What other files include: types and macros, too. */
static bool is_header(const char *path)
{
	static const char *const endings[] = {"h",   "hh",  "hpp", "hxx", "h++",
					      "inc", "inl", "ipp", "tcc", "tpp",
					      "txx", "cuh", "def", "in",  NULL};

	return has_ending(path, endings);
}

static bool is_code(const struct diff_file *f)
{
	static const char *const endings[] = {"c",   "cc", "cpp", "cxx", "c++",	  "s",
					      "asm", "rs", "go",  "cu",	 "m",	  "mm",
					      "y",   "l",  "yy",  "ll",	 "proto", NULL};

	return f->link || has_ending(f->path, endings) || is_header(f->path);
}

bool affected_has_code(const struct diff *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (is_code(&d->v[i]))
			return true;
	return false;
}

/* The lines that decide on a hunk.  If nothing is there on this side, something was added or
 * removed between two lines. */
static struct diff_hunk lines_of(const struct diff_hunk *h)
{
	return h->last < h->first ? (struct diff_hunk){h->last, h->first} : *h;
}

/* Whether there is a record of each changed line. */
static bool is_known(const struct diff_file *f, const struct lcov_file *c)
{
	for (size_t i = 0; i < f->n; i++) {
		struct diff_hunk h = lines_of(&f->hunks[i]);

		for (uint32_t line = h.first; line <= h.last; line++)
			if (count_of(c, line) < 0)
				return false;
	}
	return !f->opaque;
}

/* Beside a reached line an optimiser may have removed what is executed, too. */
static bool may_reach_head(const struct lcov_file *c, uint32_t line)
{
	size_t at = first_from(c, line);

	if (at == c->n_lines || c->lines[at].line != line)
		return true; /* a type, a macro, data */
	return c->lines[at].count > 0 || (at > 0 && c->lines[at - 1].count > 0) ||
	       (at + 1 < c->n_lines && c->lines[at + 1].count > 0);
}

static bool may_reach(const struct lcov_file *c, uint32_t line, enum affected_by by)
{
	return by == AFFECTED_HEAD ? may_reach_head(c, line) : count_of(c, line) != 0;
}

/* A place counts unless all of its lines are known not to be reached, or nothing of the file is. */
static uint64_t touched(const struct diff_file *f, const struct lcov_file *c, enum affected_by by)
{
	bool reached = is_reached(c);
	uint64_t n = reached && f->opaque;

	for (size_t i = 0; i < f->n; i++) {
		struct diff_hunk h = lines_of(&f->hunks[i]);

		/* Lines of the base were removed: the head has nothing to tell. */
		if (by == AFFECTED_HEAD && f->hunks[i].last < f->hunks[i].first)
			n++;
		for (uint32_t line = h.first; reached && line <= h.last; line++)
			n += may_reach(c, line, by);
	}
	return n;
}

/* A relative path is that of a compiler which ran below the root, or was told to say so. */
static const struct diff_file *file_of_relative(const struct diff *d, const char *path)
{
	const struct diff_file *f = diff_find(d, path);
	size_t n = strlen(path);

	for (size_t i = 0; !f && i < d->n && d->n <= RELATIVE_MAX; i++) {
		const char *of = d->v[i].path;
		size_t m = strlen(of);

		if (m > n && of[m - n - 1] == '/' && strcmp(of + m - n, path) == 0)
			f = &d->v[i];
	}
	return f;
}

const struct diff_file *affected_file(const struct diff *d, const char *root, const char *path)
{
	size_t n = root ? strlen(root) : 0;

	if (*path != '/')
		return file_of_relative(d, path);
	if (n > 0 && strncmp(path, root, n) == 0 && path[n] == '/')
		return diff_find(d, path + n + 1);
	for (const char *p = path; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL) {
		const struct diff_file *f = diff_find(d, p);

		if (f)
			return f;
	}
	return NULL;
}

/* Whether a file may be in the program although the coverage does not name it.  An optimiser leaves
 * nothing of a header but its values; a report of the base is older than a new file, and one of
 * another commit perhaps older than any. */
static bool may_have(const struct diff_file *f, bool named, enum affected_by by)
{
	switch (by) {
	case AFFECTED_HEAD:
		return is_header(f->path);
	case AFFECTED_REPORT:
		return !named && f->added && is_code(f);
	case AFFECTED_OLD_REPORT:
		return !named && is_code(f);
	}
	return true;
}

uint64_t affected_lines(const struct diff *d, const struct affected_coverage *coverage,
			bool *io_known)
{
	bool exact = coverage->by != AFFECTED_OLD_REPORT;
	_autofree_ bool *named = xcalloc(d->n + 1, sizeof(*named));
	uint64_t sum = 0;

	for (size_t i = 0; i < coverage->lcov->n; i++) {
		const struct lcov_file *c = &coverage->lcov->v[i];
		const struct diff_file *f = affected_file(d, coverage->root, c->path);

		if (!f)
			continue;
		named[f - d->v] = true;
		if (io_known && (!is_header(f->path) || (exact && is_known(f, c))))
			io_known[f - d->v] = true;
		sum += exact ? touched(f, c, coverage->by) : is_reached(c);
	}
	for (size_t i = 0; i < d->n; i++)
		sum += may_have(&d->v[i], named[i], coverage->by);
	return sum;
}

const char *affected_unknown(const struct diff *d, const bool *known)
{
	for (size_t i = 0; i < d->n; i++)
		if (!known[i] && is_code(&d->v[i]))
			return d->v[i].path;
	return NULL;
}
