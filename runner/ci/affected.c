/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/ci/affected.h"

static uint64_t touched_lines(const struct diff_file *f, const struct lcov_file *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->n_lines; i++)
		n += c->lines[i].count > 0 && diff_touches(f, c->lines[i].line);
	return n;
}

static bool is_reached(const struct lcov_file *c)
{
	for (size_t i = 0; i < c->n_lines; i++)
		if (c->lines[i].count > 0)
			return true;
	return false;
}

uint64_t affected_lines(const struct diff *d, const struct lcov *coverage,
			const struct sources *sources, bool exact)
{
	char path[SOURCE_PATH_MAX];
	uint64_t sum = 0;

	for (size_t i = 0; i < coverage->n; i++) {
		const struct lcov_file *c = &coverage->v[i];
		const struct diff_file *f =
		    source_path(sources, c->path, path) ? diff_find(d, path) : NULL;

		if (f && exact)
			sum += touched_lines(f, c);
		else if (f && is_reached(c))
			sum++;
	}
	return sum;
}
