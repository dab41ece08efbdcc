/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/series.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* --- writing, by the run ------------------------------------------------------- */

#define INTERVAL_MIN_US (1 * USEC_PER_SEC)
#define INTERVAL_MAX_US (300 * USEC_PER_SEC)
/* A call once a second is not exact to the microsecond. */
#define EARLY_US (100 * USEC_PER_MSEC)
/* The reader accepts twice as much. */
#define WRITE_MAX (UINT64_C(16) << 20)
enum { INTERVAL_OF_TIME = 240, LINE_MAX_BYTES = 4096 };

static uint64_t interval_of(uint64_t t_us)
{
	uint64_t us = t_us / INTERVAL_OF_TIME;

	if (us < INTERVAL_MIN_US)
		return INTERVAL_MIN_US;
	return us < INTERVAL_MAX_US ? us : INTERVAL_MAX_US;
}

void series_stalled(struct series *s, uint64_t wall_us, const uint64_t stalled_us[3])
{
	s->wall_us += wall_us;
	for (size_t i = 0; i < 3; i++)
		s->stalled_us[i] += stalled_us[i];
}

static json_t *head_json(const struct series_of *of)
{
	time_t t = (time_t)(of->started_real_us / USEC_PER_SEC);
	char started[32] = "";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		(void)strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_pack("{s:i, s:s, s:s, s:s, s:[s,s,s,s,s,s,s,s,s,s,s]}", "v", 1, "target",
			 of->target, "run", of->run, "started", started, "columns", "t", "execs",
			 "cov", "ft", "corpus_units", "corpus_bytes", "rss_bytes", "cpu_seconds",
			 "pressure_cpu", "pressure_memory", "pressure_io");
}

static int series_add_head(const struct series_of *of, struct buf *to, struct err *e)
{
	_autojson_ json_t *head = head_json(of);
	_autofree_ char *text = NULL;
	int r = json_print(head, 0, &text, e);

	if (r == 0)
		buf_printf(to, "%s\n", text);
	return r;
}

static double series_share(const struct series *s, size_t i)
{
	if (s->wall_us == 0)
		return 0;
	return s->stalled_us[i] < s->wall_us ? (double)s->stalled_us[i] / (double)s->wall_us : 1;
}

static void series_add_point(const struct series *s, const struct series_point *p, struct buf *to)
{
	buf_printf(to, "[%.1f,%llu,%llu,%llu,%llu,%llu,%llu,%.2f",
		   (double)p->t_us / (double)USEC_PER_SEC, (unsigned long long)p->execs,
		   (unsigned long long)p->cov, (unsigned long long)p->ft,
		   (unsigned long long)p->corpus_units, (unsigned long long)p->corpus_bytes,
		   (unsigned long long)p->rss, (double)p->cpu_us / (double)USEC_PER_SEC);

	for (size_t i = 0; i < 3; i++) {
		if (series_share(s, i) > 0)
			buf_printf(to, ",%.3f", series_share(s, i));
		else
			buf_puts(to, ",0");
	}
	buf_puts(to, "]\n");
}

static int series_put(const struct series *s, int logs, const struct series_of *of,
		      struct buf *text, struct err *e)
{
	_autofree_ char *name = xasprintf("%s.series", of->target);
	_autoclose_ int fd = -1;
	/* Truncates what a failed write left of the first line. */
	int how = s->written ? 0 : O_CREAT | O_TRUNC;
	int r = fs_open_file(logs, name, O_WRONLY | O_APPEND | how, 0640, &fd, e);

	if (r < 0)
		return r;
	return sys_write_all(fd, text->p, text->n) < 0 ? err_sys(e, "write '%s'", name) : 0;
}

static void write_point(struct series *s, int logs, const struct series_of *of,
			const struct series_point *p)
{
	_autobuf_ struct buf text = BUF_INIT(LINE_MAX_BYTES);
	struct err e;
	int r = 0;

	if (s->written > WRITE_MAX)
		return;
	if (!s->written)
		r = series_add_head(of, &text, &e);
	else if (s->cut)
		buf_puts(&text, "\n");
	series_add_point(s, p, &text);
	if (r == 0)
		r = buf_check(&text, &e);
	if (r == 0)
		r = series_put(s, logs, of, &text, &e);
	s->cut = r < 0;
	s->at_us =
	    p->t_us; /* also after a failure: a write to a full disk is not repeated each second */
	s->has_kept = false;
	s->wall_us = 0;
	for (size_t i = 0; i < 3; i++)
		s->stalled_us[i] = 0;
	if (r == 0)
		s->written += text.n;
}

void series_take(struct series *s, int logs, const struct series_of *of,
		 const struct series_point *p, bool end)
{
	uint64_t distance = interval_of(p->t_us) / (end ? 4 : 1);

	if (s->at_us == 0 || p->t_us + EARLY_US >= s->at_us + distance) {
		write_point(s, logs, of, p);
	} else if (end) {
		s->kept = *p;
		s->has_kept = true;
	}
}

void series_flush(struct series *s, int logs, const struct series_of *of)
{
	if (s->has_kept)
		write_point(s, logs, of, &s->kept);
}

/* --- reading ------------------------------------------------------------------- */

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

static size_t series_count_lines(struct slice in)
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

static void series_read_point(struct reading *r, struct slice line)
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
	n = series_count_lines(in);
	if (max_points > 0 && n > max_points)
		r.each = (n + max_points - 1) / max_points;
	while (scan_line(&in, &line))
		series_read_point(&r, line);
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

/* --- the targets of a run without a summary ------------------------------------ */

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

/* Reads the first line, and the complete lines within the last bytes: a series of a month has
 * megabytes. */
static int read_ends(int fd, uint64_t size, struct buf *out, struct err *e)
{
	char text[END_BYTES];
	struct slice in = {text, 0}, line;
	ssize_t n = sys_pread_all(fd, text, sizeof(text), 0);

	if (n < 0)
		return err_sys(e, "read");
	in.n = (size_t)n;
	if (size > sizeof(text)) {
		if (!scan_line(&in, &line) || in.n == 0)
			return err_set(e, EBADMSG, "line 1: it is too long");
		buf_put(out, line);
		buf_puts(out, "\n");
		in = (struct slice){text, 0};
		n = sys_pread_all(fd, text, sizeof(text), (off_t)(size - sizeof(text)));
		if (n < 0)
			return err_sys(e, "read");
		in.n = (size_t)n;
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

static void series_add_target(int dir, const char *name, json_t *all)
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
static json_t *series_series_of(const char *file)
{
	size_t n = strlen(file), k = sizeof(SUFFIX) - 1;

	return *file != '.' && n > k && strcmp(file + n - k, SUFFIX) == 0
		   ? json_stringn(file, n - k)
		   : NULL;
}

/* The index where name belongs. */
static size_t series_place_of(const json_t *names, const char *name)
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
		json_t *name = series_series_of(ent->d_name);

		if (name)
			json_array_insert_new(
			    names, series_place_of(names, json_string_value(name)), name);
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
		series_add_target(dir, json_string_value(json_array_get(names, i)), all);
	*ret = json_incref(all);
	return 0;
}
