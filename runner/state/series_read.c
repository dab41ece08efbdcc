/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "runner/state/series.h"

#include <errno.h>
#include <string.h>

/* The writer stops at half of FILE_MAX. */
enum { FILE_MAX = 32 << 20, COLUMNS_MAX = 32 };

struct reading {
	size_t columns;
	bool peaks[COLUMNS_MAX]; /* the greatest value of joined points counts */
	size_t each;		 /* the number of points that are joined */
	size_t have;		 /* points in the current joined one */
	double last_t;
	json_t *points; /* borrowed */
};

static bool is_peak(const char *column)
{
	return strcmp(column, "rss_bytes") == 0 || strncmp(column, "pressure_", 9) == 0;
}

static int read_columns(struct reading *r, const json_t *head)
{
	const json_t *columns = json_object_get(head, "columns");

	r->columns = json_array_size(columns);
	if (r->columns == 0 || r->columns > COLUMNS_MAX)
		return -1;
	for (size_t i = 0; i < r->columns; i++) {
		const char *name = json_string_value(json_array_get(columns, i));

		if (!name)
			return -1;
		r->peaks[i] = is_peak(name);
	}
	return 0;
}

static int series_read_head(struct slice *in, struct reading *r, json_t **ret, struct err *e)
{
	struct slice line;
	struct err why;

	if (!scan_line(in, &line))
		return err_set(e, EBADMSG, "line 1: it is empty");
	if (json_parse(line, ret, &why) < 0)
		return err_set(e, EBADMSG, "line 1: not JSON");
	if (json_integer_value(json_object_get(*ret, "v")) != 1 || read_columns(r, *ret) < 0)
		return err_set(e, EBADMSG, "line 1: not the beginning of a series");
	return 0;
}

static size_t series_read_count_lines(struct slice in)
{
	struct slice line;
	size_t n = 0;

	while (scan_line(&in, &line))
		n++;
	return n;
}

/* A point with a time before the last one is damaged. */
static bool is_point(const struct reading *r, const json_t *j)
{
	if (json_array_size(j) != r->columns)
		return false;
	for (size_t i = 0; i < r->columns; i++)
		if (!json_is_number(json_array_get(j, i)))
			return false;
	return json_number_value(json_array_get(j, 0)) >= r->last_t;
}

/* Replaces the last point by the present one. */
static void replace_last(struct reading *r, json_t *point)
{
	size_t at = json_array_size(r->points) - 1;
	const json_t *old = json_array_get(r->points, at);

	for (size_t i = 0; i < r->columns; i++) {
		json_t *was = json_array_get(old, i);

		if (r->peaks[i] &&
		    json_number_value(was) > json_number_value(json_array_get(point, i)))
			json_array_set(point, i, was);
	}
	json_array_set(r->points, at, point);
}

static void series_read_add_point(struct reading *r, struct slice line)
{
	_autojson_ json_t *j = NULL;
	struct err why;

	if (json_parse(line, &j, &why) < 0 || !is_point(r, j))
		return;
	r->last_t = json_number_value(json_array_get(j, 0));
	if (r->have++ % r->each != 0)
		replace_last(r, j);
	else
		json_array_append(r->points, j);
}

int series_parse(struct slice in, size_t max_points, json_t **ret, struct err *e)
{
	_autojson_ json_t *head = NULL;
	_autojson_ json_t *points = json_array();
	struct reading r = {.each = 1, .points = points};
	struct slice line;
	size_t n;
	int rc = series_read_head(&in, &r, &head, e);

	if (rc < 0)
		return rc;
	n = series_read_count_lines(in);
	if (max_points > 0 && n > max_points)
		r.each = (n + max_points - 1) / max_points;
	while (scan_line(&in, &line))
		series_read_add_point(&r, line);
	json_object_set(head, "points", points);
	*ret = json_incref(head);
	return 0;
}

int series_read(const struct state *s, const char *run, const char *target, size_t max_points,
		json_t **ret, struct err *e)
{
	_autofree_ char *path = NULL;
	_autofree_ char *text = NULL;
	size_t n;
	int r;

	if (!fs_name_ok(slice_of(run)) || !fs_name_ok(slice_of(target)) || *run == '.' ||
	    *target == '.')
		return err_set(e, EINVAL,
			       "'%.100s' or '%.100s' is not a valid name of a run or a target", run,
			       target);
	path = xasprintf("logs/%s/%s.series", run, target);
	r = fs_read(s->dirfd, path, FILE_MAX, &text, &n, e);
	if (r < 0)
		return r;
	r = series_parse((struct slice){text, n}, max_points, ret, e);
	return r < 0 ? err_wrap(e, "%s", path) : 0;
}
