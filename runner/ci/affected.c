/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/ci/affected.h"

#include <string.h>
#include <strings.h>

/* -1: there is no record of the line. */
static int64_t count_of(const struct lcov_file *c, uint32_t line)
{
	size_t low = 0, high = c->n_lines;

	while (low < high) {
		size_t at = low + (high - low) / 2;

		if (c->lines[at].line == line)
			return c->lines[at].count > 0;
		if (c->lines[at].line < line)
			low = at + 1;
		else
			high = at;
	}
	return -1;
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
	static const char *const endings[] = {"h",   "hh",  "hpp", "hxx", "h++", "inc",
					      "inl", "ipp", "tcc", "def", NULL};

	return has_ending(path, endings);
}

/* Whether the report has a record of each changed line. */
static bool is_known(const struct diff_file *f, const struct lcov_file *c)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct diff_hunk *h = &f->hunks[i];
		uint32_t first = h->last < h->first ? h->last : h->first;
		uint32_t last = h->last < h->first ? h->first : h->last;

		for (uint32_t line = first; line <= last; line++)
			if (count_of(c, line) < 0)
				return false;
	}
	return !f->opaque;
}

/* A hunk counts unless all of its lines are known not to be reached. */
static uint64_t touched(const struct diff_file *f, const struct lcov_file *c)
{
	uint64_t n = f->opaque;

	for (size_t i = 0; i < f->n; i++) {
		const struct diff_hunk *h = &f->hunks[i];
		/* Something was added: the lines beside it decide. */
		uint32_t first = h->last < h->first ? h->last : h->first;
		uint32_t last = h->last < h->first ? h->first : h->last;

		for (uint32_t line = first; line <= last; line++)
			n += count_of(c, line) != 0;
	}
	return n;
}

/* The file of the diff that the path ends with. */
static const struct diff_file *file_of(const struct diff *d, const char *path)
{
	for (const char *p = path; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL) {
		const struct diff_file *f = diff_find(d, p);

		if (f)
			return f;
	}
	return NULL;
}

uint64_t affected_lines(const struct diff *d, const struct lcov *coverage, bool exact,
			bool *io_known)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < coverage->n; i++) {
		const struct lcov_file *c = &coverage->v[i];
		const struct diff_file *f = file_of(d, c->path);

		if (f && io_known && (!is_header(f->path) || (exact && is_known(f, c))))
			io_known[f - d->v] = true;
		if (f && is_reached(c))
			sum += exact ? touched(f, c) : 1;
	}
	return sum;
}

/* An opaque path without an ending may be a submodule. */
static bool is_code(const struct diff_file *f)
{
	static const char *const endings[] = {"c",   "cc", "cpp", "cxx",   "c++", "s",
					      "asm", "rs", "go",  "m",	   "mm",  "y",
					      "l",   "yy", "ll",  "proto", NULL};

	return has_ending(f->path, endings) || is_header(f->path) ||
	       (f->opaque && !strrchr(f->path, '.'));
}

const char *affected_unknown(const struct diff *d, const bool *known)
{
	for (size_t i = 0; i < d->n; i++)
		if (!known[i] && is_code(&d->v[i]))
			return d->v[i].path;
	return NULL;
}
