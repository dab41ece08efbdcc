/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/observe/table.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "base/units.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { SCREEN_MAX = 1 << 20, MIN_COLUMNS = 40, MIN_LINES = 4, PLAIN_EVERY_S = 60 };

void table_open(struct table *t, int fd, bool plain)
{
	*t = (struct table){.fd = fd, .terminal = !plain && isatty(fd)};
}

/* Adds text cut to columns.  It is not printed but drawn: what a terminal would obey, or would be
 * half a character, is escaped here. */
static int add_line(struct buf *out, unsigned columns, const char *text, struct err *e)
{
	struct slice s = slice_of(text);
	size_t used = 0;

	while (s.n > 0) {
		char shown[UTF8_SHOWN_MAX];
		size_t n = utf8_shown(s, shown), len = strlen(shown);

		used += len;
		if (used > columns)
			break;
		if (buf_add(out, (struct slice){shown, len}, e) < 0)
			return -e->code;
		s = (struct slice){s.p + n, s.n - n};
	}
	return buf_add(out, SLICE("\n"), e);
}

static void percent(double share, char out[8])
{
	snprintf(out, 8, "%.0f%%", share > 9.99 ? 999 : share * 100);
}

static void row_line(const struct target_row *r, char *out, size_t n)
{
	char time[UNITS_MAX], rate[UNITS_MAX], cov[UNITS_MAX], ft[UNITS_MAX], corp[UNITS_MAX];
	char mem[UNITS_MAX], limit[UNITS_MAX], cpu[8], memory[8];

	percent(r->pressure_cpu, cpu);
	percent(r->pressure_memory, memory);
	snprintf(
	    out, n, "%-24.24s %-11s %7s %10s %8s %8s %7s %8s/%-8s %4s/%-4s %4llu", r->name,
	    r->state, units_time(r->wall_us, time), units_count(r->exec_per_s, rate),
	    units_count(r->cov, cov), units_count(r->ft, ft), units_count(r->corpus_units, corp),
	    units_size(r->done ? r->memory_peak : r->memory_now, mem),
	    units_size(r->memory_limit, limit), cpu, memory, (unsigned long long)r->failures_total);
}

static int head(const struct run_view *v, unsigned columns, struct buf *out, struct err *e)
{
	char elapsed[UNITS_MAX], total[UNITS_MAX], line[256];
	size_t done = 0;
	int r;

	for (size_t i = 0; i < v->n_rows; i++)
		done += v->rows[i].done;
	snprintf(line, sizeof(line), "run %s  %s%s%s  %u of %u workers  %zu of %zu targets done%s",
		 v->id, units_time(v->elapsed_us, elapsed), v->total_us ? " of " : "",
		 v->total_us ? units_time(v->total_us, total) : "", v->running, v->workers, done,
		 v->n_rows, v->interrupted ? "  stopping" : "");
	r = add_line(out, columns, line, e);
	if (r < 0)
		return r;
	snprintf(line, sizeof(line), "%-24s %-11s %7s %10s %8s %8s %7s %8s/%-8s %4s/%-4s %4s",
		 "target", "state", "time", "exec/cpu-s", "cov", "ft", "corpus", "mem", "limit",
		 "cpu", "mem", "bad");
	return add_line(out, columns, line, e);
}

/* 0: fuzzing and the like, 1: done, 2: waiting. */
static unsigned rank(const struct target_row *r)
{
	if (r->done)
		return 1;
	return strcmp(r->state, "queued") == 0 ? 2 : 0;
}

int table_draw(const struct run_view *v, unsigned columns, unsigned lines, struct buf *out,
	       unsigned *ret_lines, struct err *e)
{
	unsigned used = 2;
	int r = head(v, columns, out, e);

	for (unsigned want = 0; r == 0 && want < 3; want++)
		for (size_t i = 0; r == 0 && i < v->n_rows && used < lines; i++) {
			char line[256];

			if (rank(&v->rows[i]) != want)
				continue;
			row_line(&v->rows[i], line, sizeof(line));
			r = add_line(out, columns, line, e);
			used++;
		}
	if (r == 0)
		*ret_lines = used;
	return r;
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
static int erase(const struct table *t, struct buf *out, struct err *e)
{
	return t->drawn ? buf_addf(out, e, "\x1b[%uF\x1b[J", t->drawn) : 0;
}

static void emit(const struct table *t, const struct buf *b)
{
	if (sys_write_all(t->fd, buf_str(b), b->n) < 0) {
		/* nobody looks any more: the run goes on */
	}
}

static void redraw(struct table *t, const struct run_view *v, const char *line_above)
{
	_autobuf_ struct buf b = BUF_INIT(SCREEN_MAX);
	unsigned columns, lines, drawn = 0;
	struct err e;
	int r = erase(t, &b, &e);

	table_screen(t->fd, &columns, &lines);
	if (r == 0 && line_above)
		r = add_line(&b, columns, line_above, &e);
	if (r == 0)
		r = table_draw(v, columns, lines, &b, &drawn, &e);
	if (r < 0)
		return;
	emit(t, &b);
	t->drawn = drawn;
}

static void event_text(const struct run_view *v, size_t row, const char *what, char *out, size_t n)
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
	_autobuf_ struct buf b = BUF_INIT(SCREEN_MAX);
	struct err e;

	if (add_line(&b, 512, text, &e) == 0)
		emit(t, &b);
}

void table_event(struct table *t, const struct run_view *v, size_t row, const char *what)
{
	char text[512];

	event_text(v, row, what, text, sizeof(text));
	if (t->terminal)
		redraw(t, v, strcmp(what, "started") == 0 ? NULL : text);
	else
		plain_line(t, text);
}

static void plain_status(const struct table *t, const struct run_view *v)
{
	for (size_t i = 0; i < v->n_rows; i++) {
		const struct target_row *r = &v->rows[i];
		char at[UNITS_MAX], rate[UNITS_MAX], text[512];

		if (rank(r) != 0)
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
	if (t->terminal)
		redraw(t, v, NULL);
	else if (++t->seconds % PLAIN_EVERY_S == 0)
		plain_status(t, v);
}

void table_close(struct table *t)
{
	_autobuf_ struct buf b = BUF_INIT(SCREEN_MAX);
	struct err e;

	if (t->terminal && erase(t, &b, &e) == 0)
		emit(t, &b);
	t->drawn = 0;
}
