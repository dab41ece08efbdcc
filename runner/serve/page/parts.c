/* SPDX-License-Identifier: Apache-2.0 */
/* Sections, tables, figures, findings. */
#include "runner/serve/page/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void page_section(struct page *p, const char *id, const char *title)
{
	html_open(&p->h, "section");
	html_open(&p->h, "h2");
	html_attrf(&p->h, "id", "%s-title", id);
	html_text(&p->h, title);
	html_close(&p->h);
}

void page_section_end(struct page *p)
{
	html_close(&p->h);
}

/* --- tables ------------------------------------------------------------------------ */

static void column_head(struct html *h, const struct column *c)
{
	html_begin(h, "th", c->number ? "n" : NULL);
	html_attr(h, "scope", "col");
	html_attr(h, "title", c->hint);
	html_text(h, c->title);
	html_close(h);
}

void page_table(struct page *p, const char *id, const char *caption, const struct column *c,
		size_t n)
{
	struct html *h = &p->h;

	html_begin(h, "div", "tools");
	html_attrf(h, "id", "%s-tools", id);
	html_close(h);
	html_begin(h, "div", "scroll");
	html_attr(h, "role", "region");
	html_attr(h, "aria-label", caption);
	html_attr(h, "tabindex", "0");
	html_open(h, "table");
	html_attr(h, "id", id);
	html_attrf(h, "data-tools", "%s-tools", id);
	html_flag(h, "data-part");
	html_element(h, "caption", "hidden", caption);
	html_open(h, "thead");
	html_open(h, "tr");
	for (size_t i = 0; i < n; i++)
		column_head(h, &c[i]);
	html_close(h);
	html_close(h);
	html_open(h, "tbody");
}

void page_table_end(struct page *p)
{
	html_close(&p->h);
	html_close(&p->h);
	html_close(&p->h);
}

void page_cell_number(struct page *p, enum unit u, const json_t *o, const char *key)
{
	double v;

	html_begin(&p->h, "td", "n");
	if (field_number(o, key, &v))
		html_attrf(&p->h, "data-value", "%.15g", v);
	page_number(p, u, o, key);
	html_close(&p->h);
}

void page_cell_text(struct page *p, const char *text)
{
	html_open(&p->h, "td");
	if (text)
		html_text(&p->h, text);
	else
		page_none(p);
	html_close(&p->h);
}

void page_cell_time(struct page *p, const char *iso)
{
	html_open(&p->h, "td");
	page_time(p, iso);
	html_close(&p->h);
}

void page_more(struct page *p, size_t shown, double total, const char *path, const char *what)
{
	char text[UNIT_TEXT];

	if (total <= (double)shown)
		return;
	html_begin(&p->h, "p", "soft");
	html_textf(&p->h, "%zu of %s. ", shown, unit_text(UNIT_EXACT, total, text));
	if (path)
		page_to(p, path, what);
	html_close(&p->h);
}

/* --- figures ------------------------------------------------------------------------ */

void page_tiles(struct page *p, const char *id)
{
	html_begin(&p->h, "dl", "tiles");
	html_attr(&p->h, "id", id);
	html_flag(&p->h, "data-part");
}

void page_tile(struct page *p, const char *name, const char *value, const char *below)
{
	html_open(&p->h, "div");
	html_element(&p->h, "dt", NULL, name);
	html_element(&p->h, "dd", NULL, value);
	if (below)
		html_element(&p->h, "dd", "small", below);
	html_close(&p->h);
}

void page_tile_of(struct page *p, const char *name, const json_t *o, const char *key, enum unit u,
		  const char *below)
{
	char text[UNIT_TEXT];
	double v;

	page_tile(p, name, field_number(o, key, &v) ? unit_text(u, v, text) : "\xe2\x80\x93",
		  below);
}

void page_tiles_end(struct page *p)
{
	html_close(&p->h);
}

void page_fact(struct page *p, const char *name)
{
	html_element(&p->h, "dt", NULL, name);
	html_open(&p->h, "dd");
}

void page_fact_text(struct page *p, const char *name, const char *text)
{
	if (!text)
		return;
	page_fact(p, name);
	html_text(&p->h, text);
	html_close(&p->h);
}

/* --- findings ------------------------------------------------------------------------- */

static void finding(struct page *p, const json_t *f, bool with_target)
{
	const char *severity = field_text(f, "severity"), *target = field_text(f, "target");
	const char *code = field_text(f, "code"), *advice = field_text(f, "advice");
	struct html *h = &p->h;

	html_open(h, "li");
	html_open(h, "p");
	page_badge(p, severity, severity ? severity : "note");
	html_close(h);
	html_open(h, "p");
	if (with_target && target)
		page_link(p, f, target);
	else
		html_element(h, "b", NULL, code ? code : "");
	html_close(h);
	html_open(h, "div");
	html_open(h, "p");
	if (with_target && target && code) {
		html_element(h, "b", NULL, code);
		html_text(h, ": ");
	}
	html_text(h, field_text(f, "reason"));
	html_close(h);
	if (advice)
		html_element(h, "p", "advice", advice);
	html_close(h);
	html_close(h);
}

size_t page_findings(struct page *p, const json_t *list, size_t max, bool with_target)
{
	size_t n = json_array_size(list);

	if (n == 0)
		return 0;
	html_begin(&p->h, "ul", "findings");
	html_attr(&p->h, "role", "list"); /* without bullets some screen readers do not announce
					   * a list */
	for (size_t i = 0; i < n && i < max; i++)
		finding(p, json_array_get(list, i), with_target);
	html_close(&p->h);
	return n;
}

void page_command(struct page *p, const char *label, const char *command)
{
	struct html *h = &p->h;

	html_begin(h, "div", "command");
	html_begin(h, "div", "block");
	html_attr(h, "role", "region");
	html_attr(h, "aria-label", label);
	html_attr(h, "tabindex", "0");
	html_open(h, "pre");
	html_element(h, "code", NULL, command);
	html_close(h);
	html_close(h);
	html_close(h);
}

void page_meter(struct page *p, double share)
{
	struct html *h = &p->h;

	share = fmin(fmax(share, 0), 1);
	html_open(h, "svg");
	html_attr(h, "class", share > 0.9 ? "meter high" : "meter");
	html_attr(h, "viewBox", "0 0 100 6");
	html_attr(h, "preserveAspectRatio", "none");
	html_attr(h, "aria-hidden", "true");
	for (int i = 0; i < 2; i++) {
		html_begin(h, "rect", i ? "level" : "ground");
		html_attrf(h, "width", "%.0f", i ? share * 100 : 100);
		html_attr(h, "height", "6");
		html_close(h);
	}
	html_close(h);
}
