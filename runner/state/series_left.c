/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the targets of a run without a summary, by the run's series. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/state/history_internal.h"
#include "runner/state/series.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX ".series"

enum { END_BYTES = 8192 };

/* Copies the values of the last point. */
static void take_point(const json_t *series, json_t *target)
{
	static const char *const columns[] = {"execs", "cov", "ft", "corpus_units", "cpu_seconds"};
	const json_t *names = json_object_get(series, "columns");
	const json_t *point = json_array_get(json_object_get(series, "points"), 0);

	for (size_t i = 0; point && i < json_array_size(names); i++)
		for (size_t k = 0; k < sizeof(columns) / sizeof(columns[0]); k++)
			if (strcmp(json_string_value(json_array_get(names, i)), columns[k]) == 0)
				json_object_set(target, columns[k], json_array_get(point, i));
}

static void add_speed(json_t *target)
{
	uint64_t ms = json_get_us(target, "cpu_seconds") / USEC_PER_MSEC;
	uint64_t execs = json_get_u64(target, "execs");

	if (ms > 0 && execs <= INT64_MAX / 1000)
		json_object_set_new(target, "execs_per_cpu_second",
				    json_integer((json_int_t)(execs * 1000 / ms)));
}

/* --- the two ends of a file ----------------------------------------------------------- */

/* Reads the first line, and the complete lines within the last bytes: a series of a month has
 * megabytes. */
static int read_ends(int fd, uint64_t size, struct buf *out, struct err *e)
{
	char text[END_BYTES];
	struct slice in = {text, 0}, line;
	int r = history_pread(fd, text, sizeof(text), 0, &in.n, e);

	if (r < 0)
		return r;
	if (size > sizeof(text)) {
		if (!scan_line(&in, &line) || in.n == 0)
			return err_set(e, EBADMSG, "line 1: it is too long");
		buf_put(out, line);
		buf_puts(out, "\n");
		in = (struct slice){text, 0};
		r = history_pread(fd, text, sizeof(text), size - sizeof(text), &in.n, e);
		if (r < 0)
			return r;
		(void)scan_line(&in, &line); /* this line is incomplete */
	}
	buf_put(out, in);
	return buf_check(out, e);
}

/* Like series_read(), but only the last point counts. */
static int read_last(int dir, const char *file, json_t **ret, struct err *e)
{
	_autobuf_ struct buf b = BUF_INIT(2 * END_BYTES + 2);
	_autoclose_ int fd = -1;
	struct stat st;
	int r = fs_open_file(dir, file, O_RDONLY, 0, &fd, e);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat '%s'", file);
	r = read_ends(fd, (uint64_t)st.st_size, &b, e);
	return r == 0 ? series_parse(buf_slice(&b), 1, ret, e) : r;
}

/* --- all of a run ----------------------------------------------------------------------- */

static void series_left_add_target(int dir, const char *name, json_t *all)
{
	_autofree_ char *file = xasprintf("%s" SUFFIX, name);
	_autojson_ json_t *series = NULL;
	_autojson_ json_t *t = json_pack("{s:s, s:s}", "name", name, "reason", "unfinished");
	struct err why;

	if (read_last(dir, file, &series, &why) == 0) { /* a damaged series still names a target */
		take_point(series, t);
		add_speed(t);
	}
	json_array_append(all, t);
}

/* The file's name without the suffix.  NULL: it is not a series, or not UTF-8, as every target's
 * name is. */
static json_t *series_left_series_of(const char *file)
{
	size_t n = strlen(file), k = sizeof(SUFFIX) - 1;

	return *file != '.' && n > k && strcmp(file + n - k, SUFFIX) == 0
		   ? json_stringn(file, n - k)
		   : NULL;
}

/* The index where name belongs. */
static size_t series_left_place_of(const json_t *names, const char *name)
{
	size_t from = 0, to = json_array_size(names);

	while (from < to) {
		size_t at = from + (to - from) / 2;

		if (strcmp(json_string_value(json_array_get(names, at)), name) < 0)
			from = at + 1;
		else
			to = at;
	}
	return from;
}

/* Lists the first max names in order. */
static int list_names(int dir, size_t max, json_t *names, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(dir, ".");
	const struct dirent *ent;

	if (!d)
		return err_sys(e, "open a run's logs");
	while ((ent = sys_readdir(d))) {
		json_t *name = series_left_series_of(ent->d_name);

		if (name)
			json_array_insert_new(
			    names, series_left_place_of(names, json_string_value(name)), name);
		if (json_array_size(names) > max)
			(void)json_array_remove(names, max);
	}
	return 0;
}

int series_left(const struct state *s, const char *run, size_t max, json_t **ret, struct err *e)
{
	_autojson_ json_t *all = json_array(), *names = json_array();
	_autofree_ char *path = xasprintf("logs/%s", run);
	_autoclose_ int dir = -1;
	int r;

	if (!fs_name_ok(slice_of(run)))
		return err_set(e, EINVAL, "'%.100s' is not a valid run name", run);
	r = fs_open_dir(s->dirfd, path, &dir, e);
	if (r == 0)
		r = list_names(dir, max, names, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < json_array_size(names); i++)
		series_left_add_target(dir, json_string_value(json_array_get(names, i)), all);
	*ret = json_incref(all);
	return 0;
}
