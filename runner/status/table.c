/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/table.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/status/color.h"
#include "runner/status/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { SCREEN_MAX = 1 << 20, MIN_COLUMNS = 40, MIN_LINES = 4, PLAIN_EVERY_S = 60 };

void table_open(struct table *t, int fd, bool plain)
{
	*t = (struct table){.fd = fd, .terminal = !plain && isatty(fd), .color = color_wanted(fd)};
}

/* --- repeated failures ---------------------------------------------------- */

/* A failure of a target that repeats in the same way is shown once, then as a count. */
enum { REPEATS_TEXT = 300 };

struct repeat {
	char *note;	/* of the last failure, owned; NULL: none */
	uint64_t more;	/* failures counted since the last one was shown */
	bool is_silent; /* the last failure was not shown, so its restart is not shown either */
};

static void repeats_done(struct repeats *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].note);
	free(r->v);
	*r = (struct repeats){NULL, 0};
}

static struct repeat *repeats_of_row(struct repeats *r, size_t n_rows, size_t row)
{
	if (!r->v && n_rows > 0) {
		r->v = xcalloc(n_rows, sizeof(*r->v));
		r->n = n_rows;
	}
	return row < r->n ? &r->v[row] : NULL;
}

static bool repeats_failed(struct repeat *one, const char *note)
{
	one->is_silent = one->note && strcmp(one->note, note) == 0;
	if (one->is_silent) {
		one->more++;
		return false;
	}
	free(one->note);
	one->note = xstrdup(note);
	return true;
}

/* Sets hidden to the failures of a row that were counted since the last call; "": none. */
static void repeats_hidden(struct repeats *r, size_t row, char hidden[REPEATS_TEXT])
{
	struct repeat *one = row < r->n ? &r->v[row] : NULL;

	*hidden = '\0';
	if (!one || one->more == 0)
		return;
	(void)snprintf(hidden, REPEATS_TEXT, "failed %llu more time%s%s%.200s",
		       (unsigned long long)one->more, one->more == 1 ? "" : "s",
		       one->note && *one->note ? ": " : "", one->note ? one->note : "");
	one->more = 0;
}

/* Handles an event of a row.  what, note: as in table_event() and struct target_row.  n_rows: the
 * number of all rows.  False: the event is counted and need not be shown.  hidden: the counted
 * failures to show first, as an event text ("failed 9 more times: ..."); "": none. */
static bool repeats_take(struct repeats *r, size_t n_rows, size_t row, const char *what,
			 const char *note, char hidden[REPEATS_TEXT])
{
	struct repeat *one = repeats_of_row(r, n_rows, row);

	*hidden = '\0';
	if (!one)
		return true;
	if (strcmp(what, "restarted") == 0)
		return !one->is_silent;
	if (strcmp(what, "failed") == 0 && one->note && strcmp(one->note, note) == 0)
		return repeats_failed(one, note);
	repeats_hidden(r, row, hidden);
	if (strcmp(what, "failed") == 0)
		return repeats_failed(one, note);
	free(one->note);
	*one = (struct repeat){.note = NULL};
	return true;
}

/* --- one drawing --------------------------------------------------------------------------- */

static void last_find_of(const struct target_row *r, char out[COLUMN_TEXT])
{
	if (r->found)
		(void)units_time(r->silent_us, out);
	else
		(void)snprintf(out, COLUMN_TEXT, "-");
}

static void cov_of(const struct target_row *r, char out[COLUMN_TEXT])
{
	(void)units_count(r->cov, out);
}

static void table_edges_of(const struct target_row *r, char out[COLUMN_TEXT])
{
	(void)units_count(r->edges_total, out);
}

static void corpus_of(const struct target_row *r, char out[COLUMN_TEXT])
{
	(void)units_count(r->corpus_units, out);
}

static void restarts_of(const struct target_row *r, char out[COLUMN_TEXT])
{
	(void)units_count(r->restarts, out);
}

static void table_memory_of(const struct target_row *r, char out[COLUMN_TEXT])
{
	char now[UNITS_MAX], limit[UNITS_MAX];

	(void)snprintf(out, COLUMN_TEXT, "%s/%s",
		       units_size(r->done ? r->memory_peak : r->memory_now, now),
		       units_size(r->memory_limit, limit));
}

static double table_percent(double share)
{
	return share > 9.99 ? 999 : share * 100;
}

/* The shares of the last interval in which it waited for CPU and memory. */
static void stalled_of(const struct target_row *r, char out[COLUMN_TEXT])
{
	(void)snprintf(out, COLUMN_TEXT, "%.0f%%/%.0f%%", table_percent(r->pressure_cpu),
		       table_percent(r->pressure_memory));
}

static const struct column figures[] = {
    {"time", 7, 4, column_time},	   {"cpu", 7, 12, column_cpu},
    {"exec/cpu-s", 10, 3, column_rate},	   {"cov", 7, 2, cov_of},
    {"edges", 7, 10, table_edges_of},	   {"ft", 7, 7, column_ft},
    {"corpus", 7, 5, corpus_of},	   {"new", 7, 8, column_new},
    {"mem/limit", 17, 6, table_memory_of}, {"cpu/mem wait", 12, 9, stalled_of},
    {"restarts", 8, 11, restarts_of},	   {"failures", 8, 0, column_failures},
    {"last find", 9, 1, last_find_of},
};

/* Joins the parts that fit; the last ones are left out first. */
static void join(const char *const *parts, size_t n, unsigned columns, struct buf *out)
{
	char line[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(parts[i]) + (used ? 2 : 0);

		if (!*parts[i])
			continue;
		if (used + len >= sizeof(line) || (columns && used && used + len > columns))
			break;
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", used ? "  " : "",
					 parts[i]);
	}
	columns_line(slice_of(line), columns, out);
}

static void time_left(const struct run_view *v, char out[COLUMN_TEXT])
{
	char left[UNITS_MAX], total[UNITS_MAX];
	uint64_t us = v->total_us > v->elapsed_us ? v->total_us - v->elapsed_us : 0;

	if (v->total_us)
		(void)snprintf(out, COLUMN_TEXT, "%s left of %s", units_time(us, left),
			       units_time(v->total_us, total));
	else
		(void)snprintf(out, COLUMN_TEXT, "since %s", units_time(v->elapsed_us, left));
}

static void table_head(const struct run_view *v, unsigned columns, struct buf *out)
{
	char left[COLUMN_TEXT], workers[64], targets[64], failed[64], inputs[64], id[128];
	const char *const parts[] = {v->interrupted ? "stopping"
				     : v->paused    ? "paused"
						    : "",
				     left,
				     workers,
				     targets,
				     failed,
				     inputs,
				     id};
	uint64_t failures = 0, found = 0;
	char many[UNITS_MAX];
	size_t done = 0;

	for (size_t i = 0; i < v->n_rows; i++) {
		done += v->rows[i].done;
		failures += v->rows[i].failures_total;
		found += v->rows[i].new_inputs;
	}
	time_left(v, left);
	(void)snprintf(workers, sizeof(workers), "%u of %u workers busy", v->running, v->workers);
	(void)snprintf(targets, sizeof(targets), "%zu of %zu targets done", done, v->n_rows);
	(void)snprintf(failed, sizeof(failed), "%s failure%s", units_count(failures, many),
		       failures == 1 ? "" : "s");
	(void)snprintf(inputs, sizeof(inputs), "%s new inputs", units_count(found, many));
	(void)snprintf(id, sizeof(id), "run %s", v->id);
	join(parts, sizeof(parts) / sizeof(parts[0]), columns, out);
}

/* 0: fuzzing and the like, 1: done, 2: waiting. */
static unsigned table_rank(const struct target_row *r)
{
	if (r->done)
		return 1;
	return strcmp(r->state, "queued") == 0 ? 2 : 0;
}

int table_draw(const struct run_view *v, unsigned columns, unsigned lines, bool color,
	       struct buf *out, unsigned *ret_lines, struct err *e)
{
	struct columns c = {.v = figures,
			    .n = sizeof(figures) / sizeof(figures[0]),
			    .state = "state",
			    .notes = true,
			    .color = color};
	unsigned used = 2;

	table_head(v, columns, out);
	columns_choose(&c, v, columns);
	columns_head(&c, out);
	for (unsigned want = 0; want < 3; want++)
		for (size_t i = 0; i < v->n_rows && used < lines; i++) {
			if (table_rank(&v->rows[i]) != want)
				continue;
			columns_row(&c, &v->rows[i], out);
			used++;
		}
	*ret_lines = used;
	return buf_check(out, e);
}

void table_screen(int fd, unsigned *columns, unsigned *lines)
{
	struct winsize w;

	*columns = 120;
	*lines = 40;
	if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 && w.ws_row > 0) {
		*columns = w.ws_col;
		*lines = w.ws_row - 1U;
	}
	if (*columns < MIN_COLUMNS)
		*columns = MIN_COLUMNS;
	if (*lines < MIN_LINES)
		*lines = MIN_LINES;
}

/* Moves up over what was drawn and clears from there to the end of the screen. */
static void table_erase(const struct table *t, struct buf *out)
{
	if (t->drawn)
		buf_printf(out, "\x1b[%uF\x1b[J", t->drawn);
}

static void table_emit(const struct table *t, const struct buf *b)
{
	if (sys_write_all(t->fd, buf_str(b), b->n) < 0) {
		/* the reader is gone: the run continues */
	}
}

static void redraw(struct table *t, const struct run_view *v, const char *line_above)
{
	_autobuf_ struct buf b = BUF_INIT(SCREEN_MAX);
	unsigned columns, lines, drawn = 0;
	struct err e;

	table_erase(t, &b);
	table_screen(t->fd, &columns, &lines);
	if (line_above)
		columns_line(slice_of(line_above), columns, &b);
	if (table_draw(v, columns, lines, t->color, &b, &drawn, &e) < 0)
		return;
	table_emit(t, &b);
	t->drawn = drawn;
}

static void table_event_text(const struct run_view *v, size_t row, const char *what, char *out,
			     size_t n)
{
	const struct target_row *r = row < v->n_rows ? &v->rows[row] : NULL;
	char at[UNITS_MAX];

	units_time(v->elapsed_us, at);
	if (!r)
		snprintf(out, n, "[%7s] run %s", at, what);
	else if (strcmp(what, "ended") == 0 || strcmp(what, "failed") == 0)
		snprintf(out, n, "[%7s] %s %s: %s%s%s", at, r->name, what, r->done ? r->reason : "",
			 r->done && *r->note ? ", " : "", r->note);
	else
		snprintf(out, n, "[%7s] %s %s", at, r->name, what);
}

static void plain_line(const struct table *t, const char *text)
{
	enum { COLUMNS = 512 };
	_autobuf_ struct buf b = BUF_INIT(COLUMNS + 1);

	columns_line(slice_of(text), COLUMNS, &b);
	table_emit(t, &b);
}

/* Prints a permanent line. */
static void table_print_event(struct table *t, const struct run_view *v, size_t row,
			      const char *what)
{
	char text[512];

	table_event_text(v, row, what, text, sizeof(text));
	if (t->terminal)
		redraw(t, v, strcmp(what, "started") == 0 ? NULL : text);
	else
		plain_line(t, text);
}

void table_event(struct table *t, const struct run_view *v, size_t row, const char *what)
{
	char hidden[REPEATS_TEXT] = "";
	bool shows = row >= v->n_rows ||
		     repeats_take(&t->repeats, v->n_rows, row, what, v->rows[row].note, hidden);

	if (*hidden)
		table_print_event(t, v, row, hidden);
	if (shows)
		table_print_event(t, v, row, what);
}

/* Prints the counts of repeated failures. */
static void table_print_repeats(struct table *t, const struct run_view *v)
{
	char hidden[REPEATS_TEXT];

	for (size_t i = 0; i < v->n_rows; i++) {
		repeats_hidden(&t->repeats, i, hidden);
		if (*hidden)
			table_print_event(t, v, i, hidden);
	}
}

static void plain_status(const struct table *t, const struct run_view *v)
{
	for (size_t i = 0; i < v->n_rows; i++) {
		const struct target_row *r = &v->rows[i];
		char at[UNITS_MAX], rate[UNITS_MAX], text[512];

		if (table_rank(r) != 0)
			continue;
		snprintf(text, sizeof(text),
			 "[%7s] %s %s: cov %llu, ft %llu, corpus %llu, %s exec/cpu-s",
			 units_time(v->elapsed_us, at), r->name, r->state,
			 (unsigned long long)r->cov, (unsigned long long)r->ft,
			 (unsigned long long)r->corpus_units, units_count(r->exec_per_s, rate));
		plain_line(t, text);
	}
}

void table_second(struct table *t, const struct run_view *v)
{
	bool minute = ++t->seconds % PLAIN_EVERY_S == 0;

	if (minute)
		table_print_repeats(t, v);
	if (t->terminal)
		redraw(t, v, NULL);
	else if (minute)
		plain_status(t, v);
}

void table_close(struct table *t)
{
	_autobuf_ struct buf b = BUF_INIT(SCREEN_MAX);

	table_erase(t, &b);
	if (t->terminal)
		table_emit(t, &b);
	t->drawn = 0;
	repeats_done(&t->repeats);
}
