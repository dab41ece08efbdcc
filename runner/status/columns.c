/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/columns.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "base/utf8.h"
#include "runner/status/color.h"

#include <stdio.h>
#include <string.h>

enum { LINE_MAX = 8192, NAME_LEAST = 16, STATE_MOST = 16, NOTE_LEAST = 16, NOTE_MOST = 200 };
_Static_assert(NOTE_MOST + 1 + STATE_MOST + COLUMNS_MAX * (1 + COLUMN_TEXT) + 2 + NOTE_MOST <
		   LINE_MAX,
	       "a line of the table fits");

/* Width is counted in bytes.  A character of two columns has at least three bytes, so a line
 * never exceeds the screen. */
static void columns_add(struct slice s, size_t width, size_t *io_used, struct buf *out)
{
	while (s.n > 0) {
		char shown[UTF8_SHOWN_MAX];
		size_t n = utf8_shown(s, shown), len = strlen(shown);

		if (len > width - *io_used)
			break;
		*io_used += len;
		buf_put(out, (struct slice){shown, len});
		s = (struct slice){s.p + n, s.n - n};
	}
}

static size_t shown_width(const char *text)
{
	struct slice s = slice_of(text);
	size_t width = 0;

	while (s.n > 0) {
		char shown[UTF8_SHOWN_MAX];
		size_t n = utf8_shown(s, shown);

		width += strlen(shown);
		s = (struct slice){s.p + n, s.n - n};
	}
	return width;
}

static void columns_blanks(size_t n, struct buf *out)
{
	buf_printf(out, "%*s", (int)n, "");
}

/* Left-aligned text, padded with blanks. */
static void add_left(const char *text, size_t width, struct buf *out)
{
	size_t used = 0;

	columns_add(slice_of(text), width, &used, out);
	columns_blanks(width - used, out);
}

void columns_line(struct slice text, unsigned width, struct buf *out)
{
	size_t used = 0;

	columns_add(text, width ? width : SIZE_MAX, &used, out);
	buf_puts(out, "\n");
}

/* --- choice of columns --------------------------------------------------------------------- */

static unsigned at_most(size_t n, unsigned most)
{
	return n < most ? (unsigned)n : most;
}

/* The minimum width of the name, before the figures get theirs. */
static unsigned name_least(unsigned width)
{
	if (width == 0)
		return NOTE_MOST;
	return width < 100 ? NAME_LEAST : width / 5;
}

static unsigned widest(const struct run_view *v, const char *title, bool of_name)
{
	size_t most = strlen(title);

	for (size_t i = 0; i < v->n_rows; i++) {
		size_t n = shown_width(of_name ? v->rows[i].name : v->rows[i].state);

		most = n > most ? n : most;
	}
	return most > NOTE_MOST ? NOTE_MOST : (unsigned)most;
}

/* Figures are never cut, because a cut figure is wrong. */
static unsigned figure_width(const struct column *c, const struct run_view *v)
{
	size_t most = c->width;
	char text[COLUMN_TEXT];

	for (size_t i = 0; i < v->n_rows; i++) {
		c->text(&v->rows[i], text);
		most = shown_width(text) > most ? shown_width(text) : most;
	}
	return at_most(most, COLUMN_TEXT);
}

static const struct column *of_rank(const struct columns *c, unsigned rank, size_t *ret_i)
{
	for (*ret_i = 0; *ret_i < c->n; (*ret_i)++)
		if (c->v[*ret_i].rank == rank)
			return &c->v[*ret_i];
	return NULL;
}

void columns_choose(struct columns *c, const struct run_view *v, unsigned width)
{
	unsigned name = widest(v, "target", true), used;
	size_t i;

	memset(c->taken, 0, sizeof(c->taken));
	c->width = width;
	c->state_width = at_most(widest(v, c->state, false), STATE_MOST);
	c->name_width = at_most(name, name_least(width));
	used = c->name_width + 1 + c->state_width;
	for (unsigned rank = 0; rank < COLUMNS_MAX; rank++) {
		const struct column *one = of_rank(c, rank, &i);

		if (!one)
			continue;
		c->widths[i] = figure_width(one, v);
		if (width && used + 1 + c->widths[i] > width)
			continue;
		c->taken[i] = true;
		used += 1 + c->widths[i];
	}
	if (width > used) {
		c->name_width = at_most(name, c->name_width + width - used);
		used += c->name_width - at_most(name, name_least(width));
	}
	c->note_width = 0;
	if (c->notes && (!width || width > used + NOTE_LEAST))
		c->note_width = width ? at_most(width - used - 2, NOTE_MOST) : NOTE_MOST;
}

/* --- lines --------------------------------------------------------------------------------- */

/* A right-aligned figure. */
static void add_figure(const char *text, unsigned width, struct buf *line)
{
	size_t n = at_most(shown_width(text), width), used = 0;

	columns_blanks(1 + width - n, line);
	columns_add(slice_of(text), width, &used, line);
}

static enum color color_of(const struct columns *c, const struct target_row *t)
{
	if (!c->color)
		return COLOR_NONE;
	if (t->unfuzzed)
		return COLOR_BAD;
	if (t->given_up)
		return COLOR_DOUBT;
	if (strcmp(t->state, "fuzzing") == 0)
		return COLOR_GOOD;
	return strcmp(t->state, "queued") == 0 ? COLOR_DIM : COLOR_NONE;
}

/* Ends a line without trailing blanks and without the parts that a narrow screen has no room
 * for. */
static void columns_finish(const struct columns *c, enum color color, struct buf *line,
			   struct buf *out)
{
	const size_t at = c->name_width + 1, end = at + c->state_width;
	struct slice s;

	while (line->n > 0 && line->p[line->n - 1] == ' ')
		line->p[--line->n] = '\0';
	s = buf_slice(line);
	if (color == COLOR_NONE || s.n < end || (c->width && c->width <= end)) {
		columns_line(s, c->width, out);
		return;
	}
	buf_put(out, (struct slice){s.p, at});
	color_add(color, (struct slice){s.p + at, c->state_width}, out);
	s = (struct slice){s.p + end, s.n - end};
	columns_line(s, c->width ? c->width - (unsigned)end : 0, out);
}

void columns_head(const struct columns *c, struct buf *out)
{
	_autobuf_ struct buf line = BUF_INIT(LINE_MAX);

	add_left("target", c->name_width, &line);
	columns_blanks(1, &line);
	add_left(c->state, c->state_width, &line);
	for (size_t i = 0; i < c->n; i++)
		if (c->taken[i])
			add_figure(c->v[i].title, c->widths[i], &line);
	if (c->note_width)
		buf_puts(&line, "  note");
	columns_finish(c, COLOR_NONE, &line, out);
}

void columns_row(const struct columns *c, const struct target_row *t, struct buf *out)
{
	_autobuf_ struct buf line = BUF_INIT(LINE_MAX);
	char text[COLUMN_TEXT];
	size_t used = 0;

	add_left(t->name, c->name_width, &line);
	columns_blanks(1, &line);
	add_left(t->state, c->state_width, &line);
	for (size_t i = 0; i < c->n; i++) {
		if (!c->taken[i])
			continue;
		c->v[i].text(t, text);
		add_figure(text, c->widths[i], &line);
	}
	if (c->note_width) {
		columns_blanks(2, &line);
		columns_add(slice_of(t->note), c->note_width, &used, &line);
	}
	columns_finish(c, color_of(c, t), &line, out);
}

/* --- figures ------------------------------------------------------------------------------- */

void column_time(const struct target_row *r, char out[COLUMN_TEXT])
{
	(void)units_time(r->wall_us, out);
}

void column_cpu(const struct target_row *r, char out[COLUMN_TEXT])
{
	(void)units_time(r->cpu_us, out);
}

void column_rate(const struct target_row *r, char out[COLUMN_TEXT])
{
	(void)units_count(r->exec_per_s, out);
}

void column_ft(const struct target_row *r, char out[COLUMN_TEXT])
{
	(void)units_count(r->ft, out);
}

void column_new(const struct target_row *r, char out[COLUMN_TEXT])
{
	(void)units_count(r->new_inputs, out);
}

void column_failures(const struct target_row *r, char out[COLUMN_TEXT])
{
	(void)units_count(r->failures_total, out);
}
