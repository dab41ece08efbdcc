/* SPDX-License-Identifier: Apache-2.0 */
/* Curves.  Small ones are drawn here, as SVG; the script draws large ones from the same data. */
#include "base/cleanup.h"
#include "runner/serve/page/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CURVES = 3, POINTS_SHOWN = 120, SPARK_WIDTH = 96, SPARK_HEIGHT = 20 };

struct range {
	double low, high;
};

static bool value_at(const json_t *list, size_t i, double *ret)
{
	const json_t *j = json_array_get(list, i);

	if (!json_is_number(j) || !isfinite(json_number_value(j)))
		return false;
	*ret = json_number_value(j);
	return true;
}

static void svg(struct html *h, const char *class, int width, int height)
{
	html_begin(h, "svg", class);
	html_attrf(h, "viewBox", "0 0 %d %d", width, height);
	html_attr(h, "preserveAspectRatio", "none");
	html_attr(h, "aria-hidden", "true");
	html_attr(h, "focusable", "false");
}

static void polyline(struct html *h, const char *class, const struct buf *points)
{
	html_begin(h, "polyline", class);
	html_attr(h, "points", buf_str(points));
	html_close(h);
}

static struct range range_of(const json_t *values)
{
	struct range r = {INFINITY, -INFINITY};
	double v;

	for (size_t i = 0; i < json_array_size(values); i++)
		if (value_at(values, i, &v))
			r = (struct range){fmin(r.low, v), fmax(r.high, v)};
	return r;
}

void page_spark(struct page *p, const json_t *values)
{
	_autobuf_ struct buf points = BUF_INIT(8192);
	struct range r = range_of(values);
	size_t n = json_array_size(values);
	double v;

	if (n < 2 || n > 200 || !(r.high >= r.low))
		return;
	for (size_t i = 0; i < n; i++)
		if (value_at(values, i, &v))
			buf_printf(&points, "%.1f,%.1f ", (double)i * SPARK_WIDTH / (double)(n - 1),
				   r.high > r.low
				       ? (1 - (v - r.low) / (r.high - r.low)) * (SPARK_HEIGHT - 4) +
					     2
				       : SPARK_HEIGHT / 2.0);
	if (p->h.r == 0)
		p->h.r = buf_check(&points, p->h.e);
	svg(&p->h, "spark", SPARK_WIDTH, SPARK_HEIGHT);
	polyline(&p->h, "line", &points);
	html_close(&p->h);
}

/* --- large ones ----------------------------------------------------------------------- */

/* The index of a column in each point; -1: the series does not have it. */
static int column_of(const json_t *series, const char *name, size_t n)
{
	const json_t *columns = field_list(series, "columns");

	for (size_t i = 0; i < json_array_size(columns) && i < INT8_MAX; i++) {
		const char *s = json_string_value(json_array_get(columns, i));

		if (s && strlen(s) == n && memcmp(s, name, n) == 0)
			return (int)i;
	}
	return -1;
}

/* A curve's columns.  below < 0: plots top itself; else the growth of top by the growth of
 * below. */
struct source {
	const json_t *points;
	int x, top, below;
};

struct pair {
	double top, below;
};

static bool pair_at(const struct source *s, size_t i, struct pair *ret)
{
	const json_t *point = json_array_get(s->points, i);

	return value_at(point, (size_t)s->top, &ret->top) &&
	       value_at(point, (size_t)s->below, &ret->below);
}

/* The point from which growth up to point i counts.  By time it is the previous point, else the
 * last point at which both had grown.  An engine reports its executions at intervals, and the
 * last of them when its CPU time has ended.  The script does the same. */
static bool pair_before(const struct source *s, size_t i, struct pair *ret)
{
	struct pair p;
	bool any = false;

	for (size_t k = 0; k < i; k++) {
		if (!pair_at(s, k, &p))
			continue;
		if (!any || s->below == s->x || p.top < ret->top || p.below < ret->below ||
		    (p.top > ret->top && p.below > ret->below))
			*ret = p;
		any = true;
	}
	return any;
}

static bool point_value(const struct source *s, size_t i, double *ret)
{
	struct pair from = {0}, now;

	if (s->below < 0)
		return value_at(json_array_get(s->points, i), (size_t)s->top, ret);
	if (!pair_at(s, i, &now) || !pair_before(s, i, &from) || now.below <= from.below)
		return false;
	/* By time, no growth is a value, too. */
	if (s->below == s->x ? now.top < from.top : now.top <= from.top)
		return false;
	*ret = (now.top - from.top) / (now.below - from.below);
	return true;
}

static bool source_of(const json_t *series, const struct plot *plot, const char *name, size_t n,
		      struct source *ret)
{
	const char *slash = memchr(name, '/', n);
	size_t top = slash ? (size_t)(slash - name) : n;

	ret->points = field_list(series, "sample");
	ret->x = column_of(series, plot->time ? "time" : "t", plot->time ? 4 : 1);
	ret->top = column_of(series, name, top);
	ret->below = slash ? column_of(series, slash + 1, n - top - 1) : -1;
	return ret->x >= 0 && ret->top >= 0 && (!slash || ret->below >= 0);
}

static struct range source_range(const struct source *s)
{
	struct range r = {INFINITY, -INFINITY};
	double v;

	for (size_t i = 0; i < json_array_size(s->points); i++)
		if (point_value(s, i, &v))
			r = (struct range){fmin(r.low, v), fmax(r.high, v)};
	return r;
}

static struct range x_range(const struct source *s)
{
	size_t n = json_array_size(s->points);
	struct range r = {0, 0};

	(void)value_at(json_array_get(s->points, 0), (size_t)s->x,
		       &r.low); /* without points there is no curve */
	(void)value_at(json_array_get(s->points, n ? n - 1 : 0), (size_t)s->x, &r.high);
	return r;
}

/* Draws into a square of 100 by 100; top: the value at its upper end. */
static void curve(struct page *p, const struct source *s, const char *class, double top)
{
	_autobuf_ struct buf points = BUF_INIT(1 << 16);
	struct range x = x_range(s);
	double at, v;

	for (size_t i = 0; i < json_array_size(s->points); i++)
		if (point_value(s, i, &v) &&
		    value_at(json_array_get(s->points, i), (size_t)s->x, &at))
			buf_printf(&points, "%.2f,%.2f ",
				   x.high > x.low ? (at - x.low) * 100 / (x.high - x.low) : 0,
				   100 - fmin(v / top, 1) * 96);
	if (p->h.r == 0)
		p->h.r = buf_check(&points, p->h.e);
	polyline(&p->h, class, &points);
}

static const char *const curve_class[CURVES] = {"line", "line second", "line third"};
static const char *const key_class[CURVES] = {"first", "second", "third"};

/* The i-th of the separated words; false after the last. */
static bool page_plot_word_at(const char *list, char separator, size_t i, struct slice *ret)
{
	struct slice in = slice_of(list), word;

	for (;; i--) {
		const char *end = memchr(in.p, separator, in.n);

		word = (struct slice){in.p, end ? (size_t)(end - in.p) : in.n};
		if (i == 0 || !end)
			break;
		in = (struct slice){end + 1, in.n - word.n - 1};
	}
	*ret = word;
	return i == 0 && word.n > 0;
}

/* The upper end of a curve's scale; curves of the same unit share it. */
static double scale_of(const json_t *series, const struct plot *plot, size_t i)
{
	struct slice name, unit;
	bool own = page_plot_word_at(plot->units, ' ', 1, &unit);
	double top = plot->max > 0 ? plot->max : plot->limit;
	struct source s;

	for (size_t k = 0; k < CURVES && page_plot_word_at(plot->columns, ' ', k, &name); k++)
		if ((!own || k == i) && source_of(series, plot, name.p, name.n, &s))
			top = fmax(top, source_range(&s).high);
	return top > 0 ? top : 1;
}

static void picture(struct page *p, const struct plot *plot, const json_t *series)
{
	struct slice name;
	struct source s;

	html_begin(&p->h, "div", "surface");
	if (json_array_size(field_list(series, "sample")) > 1) {
		svg(&p->h, NULL, 100, 100);
		for (size_t i = 0; i < CURVES && page_plot_word_at(plot->columns, ' ', i, &name);
		     i++)
			if (source_of(series, plot, name.p, name.n, &s))
				curve(p, &s, curve_class[i], scale_of(series, plot, i));
		html_close(&p->h);
	}
	html_close(&p->h);
}

static enum unit unit_of(const struct plot *plot, size_t i)
{
	struct slice unit;

	if (!page_plot_word_at(plot->units, ' ', i, &unit) &&
	    !page_plot_word_at(plot->units, ' ', 0, &unit))
		return UNIT_EXACT;
	if (slice_eq(unit, SLICE("bytes")))
		return UNIT_BYTES;
	if (slice_eq(unit, SLICE("number")))
		return UNIT_NUMBER;
	return slice_eq(unit, SLICE("share")) ? UNIT_SHARE : UNIT_COUNT;
}

/* The curve's range in words: "edges 12-54", "CPU to 5.0%". */
static void page_plot_range(struct page *p, const struct plot *plot, const json_t *series)
{
	struct slice name, label;
	char low[UNIT_TEXT], high[UNIT_TEXT];
	struct source s;

	html_begin(&p->h, "span", "soft small");
	for (size_t i = 0; i < CURVES && page_plot_word_at(plot->columns, ' ', i, &name); i++) {
		struct range r;

		if (!page_plot_word_at(plot->labels, '|', i, &label) ||
		    !source_of(series, plot, name.p, name.n, &s))
			continue;
		r = source_range(&s);
		if (!(r.high >= r.low))
			continue;
		html_textf(&p->h, "%s%.*s %s%s%s", i ? ", " : "", (int)label.n, label.p,
			   plot->max > 0 ? "to" : unit_text(unit_of(plot, i), r.low, low),
			   plot->max > 0 ? " " : "\xe2\x80\x93",
			   unit_text(unit_of(plot, i), r.high, high));
	}
	html_close(&p->h);
}

static void key(struct page *p, const struct plot *plot)
{
	struct html *h = &p->h;
	char text[UNIT_TEXT];
	struct slice label;

	html_begin(h, "div", "key");
	html_attr(h, "aria-hidden", "true");
	for (size_t i = 0; i < CURVES && page_plot_word_at(plot->labels, '|', i, &label); i++) {
		html_begin(h, "span", key_class[i]);
		html_textn(h, label);
		html_open(h, "b");
		html_flag(h, "data-key");
		html_close(h);
		html_close(h);
	}
	if (plot->limit > 0) {
		html_begin(h, "span", "limit");
		html_textf(h, "limit %s", unit_text(unit_of(plot, 0), plot->limit, text));
		html_close(h);
	}
	html_close(h);
}

/* A series may lack all columns, if its file is damaged or foreign.  A target that
 * never executed an input has no speed. */
static bool page_plot_has_any(const struct plot *plot, const json_t *series)
{
	struct slice name;
	struct source s;

	for (size_t i = 0; i < CURVES && page_plot_word_at(plot->columns, ' ', i, &name); i++)
		if (source_of(series, plot, name.p, name.n, &s) && isfinite(source_range(&s).low))
			return true;
	return false;
}

void page_plot(struct page *p, const struct plot *plot, const json_t *series, const char *table)
{
	const char *api = field_text(series, "api");
	struct html *h = &p->h;

	if (!page_plot_has_any(plot, series))
		return;
	html_begin(h, "figure", "plot");
	if (api)
		html_attrf(h, "data-series", "%s%s", p->root, api);
	html_attr(h, "data-table", table);
	html_attr(h, "data-x", plot->time ? "time" : "t");
	html_attr(h, "data-columns", plot->columns);
	html_attr(h, "data-labels", plot->labels);
	html_attr(h, "data-units", plot->units);
	if (plot->limit > 0)
		html_attrf(h, "data-limit", "%.15g", plot->limit);
	if (plot->max > 0)
		html_attrf(h, "data-max", "%.15g", plot->max);
	html_open(h, "figcaption");
	html_element(h, "b", NULL, plot->title);
	page_plot_range(p, plot, series);
	html_close(h);
	picture(p, plot, series);
	key(p, plot);
	html_close(h);
}

/* --- as a table --------------------------------------------------------------------------- */

static const struct known_column {
	const char *name, *title;
	enum unit unit;
} known_columns[] = {{"t", "After", UNIT_SECONDS},
		     {"time", "Ended", UNIT_EXACT},
		     {"execs", "Executions", UNIT_COUNT},
		     {"cov", "Edges", UNIT_EXACT},
		     {"ft", "Features", UNIT_EXACT},
		     {"corpus_units", "Inputs", UNIT_EXACT},
		     {"corpus_bytes", "Corpus", UNIT_BYTES},
		     {"new_inputs", "New inputs", UNIT_EXACT},
		     {"rss_bytes", "Memory", UNIT_BYTES},
		     {"cpu_seconds", "CPU time", UNIT_SECONDS},
		     {"execs_per_cpu_second", "Executions in a CPU-second", UNIT_COUNT},
		     {"pressure_cpu", "CPU pressure", UNIT_SHARE},
		     {"pressure_memory", "Memory pressure", UNIT_SHARE},
		     {"pressure_io", "I/O pressure", UNIT_SHARE}};

/* An unknown column gets its own name as title. */
static struct known_column column_named(const char *name)
{
	for (size_t i = 0; i < sizeof(known_columns) / sizeof(known_columns[0]); i++)
		if (strcmp(name, known_columns[i].name) == 0)
			return known_columns[i];
	return (struct known_column){name, name, UNIT_EXACT};
}

static void moment_text(struct page *p, double v)
{
	time_t t = v > 0 && v < 1e11 ? (time_t)v : 0;
	char iso[40];
	struct tm tm;

	page_time(p, gmtime_r(&t, &tm) && strftime(iso, sizeof(iso), "%Y-%m-%dT%H:%M:%SZ", &tm)
			 ? iso
			 : NULL);
}

static void point_cell(struct page *p, const char *name, const json_t *point, size_t i)
{
	char text[UNIT_TEXT];
	double v;

	html_begin(&p->h, "td", "n");
	if (!value_at(point, i, &v)) {
		page_none(p);
	} else {
		html_attrf(&p->h, "data-value", "%.15g", v);
		if (strcmp(name, "time") == 0)
			moment_text(p, v);
		else
			html_text(&p->h, unit_text(column_named(name).unit, v, text));
	}
	html_close(&p->h);
}

static void points_head(struct page *p, const char *id, const char *caption, const json_t *columns)
{
	struct html *h = &p->h;

	html_begin(h, "div", "scroll");
	html_attr(h, "role", "region");
	html_attr(h, "aria-label", caption);
	html_attr(h, "tabindex", "0");
	html_open(h, "table");
	html_attr(h, "id", id);
	html_flag(h, "data-part");
	html_element(h, "caption", "hidden", caption);
	html_open(h, "thead");
	html_open(h, "tr");
	for (size_t i = 0; i < json_array_size(columns); i++) {
		const char *name = json_string_value(json_array_get(columns, i));

		html_begin(h, "th", "n");
		html_attr(h, "scope", "col");
		html_attr(h, "data-column", name);
		html_text(h, column_named(name ? name : "").title);
		html_close(h);
	}
	html_close(h);
	html_close(h);
	html_open(h, "tbody");
}

void page_points(struct page *p, const char *id, const char *caption, const json_t *series)
{
	const json_t *columns = field_list(series, "columns"),
		     *sample = field_list(series, "sample");
	struct html *h = &p->h;

	if (json_array_size(sample) == 0)
		return;
	html_open(h, "details");
	html_element(h, "summary", NULL, caption);
	points_head(p, id, caption, columns);
	for (size_t i = 0; i < json_array_size(sample) && i < POINTS_SHOWN; i++) {
		html_open(h, "tr");
		for (size_t k = 0; k < json_array_size(columns); k++) {
			const char *name = json_string_value(json_array_get(columns, k));

			point_cell(p, name ? name : "", json_array_get(sample, i), k);
		}
		html_close(h);
	}
	html_close(h);
	html_close(h);
	html_close(h);
	html_close(h);
}
