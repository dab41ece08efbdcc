/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/serve/page/page.h"

#include "base/clock.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REFRESH_S = 5, COMMIT_SHOWN = 12 };

/* --- models ---------------------------------------------------------------------- */

const char *field_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s && *s ? s : NULL;
}

bool field_number(const json_t *o, const char *key, double *ret)
{
	const json_t *j = json_object_get(o, key);

	if (!json_is_number(j) || !isfinite(json_number_value(j)))
		return false;
	*ret = json_number_value(j);
	return true;
}

double field_or_0(const json_t *o, const char *key)
{
	double v = 0;

	(void)field_number(o, key, &v); /* 0 if missing */
	return v;
}

bool field_true(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

const json_t *field_object(const json_t *o, const char *key)
{
	const json_t *j = json_object_get(o, key);

	return json_is_object(j) ? j : NULL;
}

const json_t *field_list(const json_t *o, const char *key)
{
	const json_t *j = json_object_get(o, key);

	return json_is_array(j) ? j : NULL;
}

/* --- text ------------------------------------------------------------------------- */

static uint64_t page_whole(double v)
{
	return v <= 0 ? 0 : v >= 9e18 ? UINT64_C(9000000000000000000) : (uint64_t)llround(v);
}

const char *unit_text(enum unit u, double v, char out[UNIT_TEXT])
{
	char text[UNITS_MAX];

	switch (u) {
	case UNIT_COUNT:
		units_count(page_whole(v), text);
		break;
	case UNIT_BYTES:
		units_size(page_whole(v), text);
		break;
	case UNIT_SECONDS:
		units_time(page_whole(v < 1e12 ? v * (double)USEC_PER_SEC : 1e18), text);
		break;
	case UNIT_SHARE:
		snprintf(text, sizeof(text), "%.1f%%", fmin(fmax(v, 0), 1e6) * 100);
		break;
	case UNIT_NUMBER:
		snprintf(text, sizeof(text), "%.2f", fmin(fmax(v, 0), 1e9));
		break;
	case UNIT_EXACT:
	default:
		snprintf(text, sizeof(text), "%llu", (unsigned long long)page_whole(v));
		break;
	}
	snprintf(out, UNIT_TEXT, "%s", text);
	return out;
}

/* Is it the address of a web page? */
static bool is_web(const char *url)
{
	return url && (strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0);
}

void page_none(struct page *p)
{
	html_begin(&p->h, "span", "soft");
	html_attr(&p->h, "aria-hidden", "true");
	html_text(&p->h, "\xe2\x80\x93");
	html_close(&p->h);
	html_element(&p->h, "span", "hidden", "none");
}

void page_number(struct page *p, enum unit u, const json_t *o, const char *key)
{
	char text[UNIT_TEXT];
	double v;

	if (field_number(o, key, &v))
		html_text(&p->h, unit_text(u, v, text));
	else
		page_none(p);
}

void page_time(struct page *p, const char *iso)
{
	if (!iso || strlen(iso) < 16) {
		page_none(p);
		return;
	}
	html_begin(&p->h, "time", "nowrap");
	html_attr(&p->h, "datetime", iso);
	html_textn(&p->h, (struct slice){iso, 10});
	html_text(&p->h, " ");
	html_textn(&p->h, (struct slice){iso + 11, 5});
	html_element(&p->h, "span", "utc", " UTC"); /* the script finds it by its class */
	html_close(&p->h);
}

void page_to(struct page *p, const char *path, const char *text)
{
	html_open(&p->h, "a");
	html_href(&p->h, p->root, path);
	html_text(&p->h, text);
	html_close(&p->h);
}

void page_link(struct page *p, const json_t *o, const char *text)
{
	const char *href = field_text(o, "href");

	if (!text)
		page_none(p);
	else if (href)
		page_to(p, href, text);
	else
		html_text(&p->h, text);
}

void page_commit(struct page *p, const char *commit)
{
	bool is_link =
	    commit && is_web(p->commits) && strspn(commit, "0123456789abcdef") == strlen(commit);

	if (!commit) {
		page_none(p);
		return;
	}
	if (is_link) {
		html_open(&p->h, "a");
		html_attrf(&p->h, "href", "%s%s", p->commits, commit);
		html_attr(&p->h, "rel", "noreferrer");
	}
	html_begin(&p->h, "code", "nowrap");
	html_attr(&p->h, "title", commit);
	html_textn(&p->h, (struct slice){commit, strnlen(commit, COMMIT_SHOWN)});
	html_close(&p->h);
	if (is_link)
		html_close(&p->h);
}

void page_issue(struct page *p, const char *url, bool whole)
{
	const char *number = url ? strrchr(url, '/') : NULL;

	if (!is_web(url)) {
		page_none(p);
		return;
	}
	html_open(&p->h, "a");
	html_attr(&p->h, "href", url);
	html_attr(&p->h, "rel", "noreferrer");
	if (whole)
		html_text(&p->h, url);
	else
		html_textf(&p->h, "issue %s", strspn(number + 1, "0123456789") ? number + 1 : "");
	html_close(&p->h);
}

/* Only values that the style sheet has become a class. */
static const char *known_severity(const char *severity)
{
	static const char *const names[] = {"ok", "note", "warning", "error"};

	for (size_t i = 0; severity && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(severity, names[i]) == 0)
			return names[i];
	return NULL;
}

void page_badge(struct page *p, const char *severity, const char *text)
{
	severity = known_severity(severity);
	html_open(&p->h, "span");
	html_attrf(&p->h, "class", "badge%s%s", severity ? " " : "", severity ? severity : "");
	html_text(&p->h, text);
	html_close(&p->h);
}

void page_verdict(struct page *p, const json_t *health)
{
	const char *severity = field_text(health, "severity"), *code = field_text(health, "code");

	if (!severity)
		page_none(p);
	else if (json_is_false(json_object_get(health, "known")))
		page_badge(p, NULL, "not known yet");
	else
		page_badge(p, severity,
			   strcmp(severity, "ok") == 0 ? "healthy"
			   : code		       ? code
						       : severity);
}

/* --- the frame -------------------------------------------------------------------- */

static void meta(struct html *h, const char *name, const char *content)
{
	html_open(h, "meta");
	html_attr(h, "name", name);
	html_attr(h, "content", content);
}

static void head_link(struct page *p, const char *rel, const char *type, const char *path)
{
	html_open(&p->h, "link");
	html_attr(&p->h, "rel", rel);
	html_attr(&p->h, "type", type);
	html_href(&p->h, p->root, path);
}

static void page_script(struct page *p, const char *path)
{
	html_open(&p->h, "script");
	html_attrf(&p->h, "src", "%s%s", p->root, path);
	html_flag(&p->h, "defer");
	html_close(&p->h);
}

static void page_head(struct page *p, const struct page_about *a)
{
	struct html *h = &p->h;

	html_open(h, "head");
	html_open(h, "meta");
	html_attr(h, "charset", "utf-8");
	html_open(h, "title");
	html_textf(h, "%s - fuzzcell", a->title);
	html_close(h);
	meta(h, "viewport", "width=device-width, initial-scale=1");
	meta(h, "color-scheme", "light dark");
	head_link(p, "icon", "image/svg+xml", "assets/icon.svg");
	if (a->plots)
		head_link(p, "stylesheet", NULL, "assets/vendor/uplot/uPlot.min.css");
	head_link(p, "stylesheet", NULL, "assets/fuzzcell.css");
	if (a->plots)
		page_script(p, "assets/vendor/uplot/uPlot.iife.min.js");
	page_script(p, "assets/fuzzcell.js");
	html_close(h);
}

static void navigation(struct page *p, const char *here)
{
	static const char *const pages[][2] = {{"index.html", "Overview"},
					       {"crashes.html", "Crashes"},
					       {"runs.html", "Runs"},
					       {"health.html", "Health"}};
	struct html *h = &p->h;

	html_open(h, "nav");
	html_attr(h, "aria-label", "Pages");
	html_open(h, "ul");
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		html_open(h, "li");
		html_open(h, "a");
		html_href(h, p->root, pages[i][0]);
		if (here && strcmp(here, pages[i][1]) == 0)
			html_attr(h, "aria-current", "page");
		html_text(h, pages[i][1]);
		html_close(h);
		html_close(h);
	}
	html_close(h);
	html_close(h);
}

static void header(struct page *p, const struct page_about *a)
{
	struct html *h = &p->h;

	html_begin(h, "a", "skip");
	html_attr(h, "href", "#main");
	html_text(h, "Skip to the content");
	html_close(h);
	html_begin(h, "header", "top");
	html_begin(h, "a", "name");
	html_href(h, p->root, "index.html");
	html_text(h, "fuzzcell");
	html_close(h);
	navigation(p, a->here);
	html_begin(h, "span", "where small");
	html_attr(h, "id", "updated");
	html_flag(h, "data-part");
	if (field_text(p->shows, "commit")) {
		html_text(h, "commit ");
		page_commit(p, field_text(p->shows, "commit"));
		html_text(h, ", ");
	}
	html_text(h, "as of ");
	page_time(p, field_text(a->model, "updated"));
	html_close(h);
	html_close(h);
}

bool page_is_full(const struct page *p)
{
	return p->h.out->n >= p->full;
}

struct page page_begin(const struct page_about *a, struct buf *out, struct err *e)
{
	struct page p = {.h = html_on(out, e),
			 .root = a->root,
			 .api = a->api,
			 .commits = field_text(a->model, "commits"),
			 .shows = field_object(a->model, "shows"),
			 .full = PAGE_FULL};

	html_doctype(&p.h);
	html_open(&p.h, "html");
	html_attr(&p.h, "lang", "en");
	page_head(&p, a);
	html_open(&p.h, "body");
	header(&p, a);
	html_open(&p.h, "main");
	html_attr(&p.h, "id", "main");
	if (a->live)
		html_attrf(&p.h, "data-every", "%d", REFRESH_S);
	return p;
}

int page_end(struct page *p)
{
	struct html *h = &p->h;

	html_close(h);
	html_begin(h, "footer", "foot");
	if (field_text(p->shows, "version"))
		html_textf(h, "fuzzcell %s. ", field_text(p->shows, "version"));
	html_open(h, "span");
	html_attr(h, "id", "zone");
	html_text(h, "Times are UTC.");
	html_close(h);
	html_text(h, " ");
	if (p->api) {
		html_text(h, "The same as JSON: ");
		page_to(p, p->api, p->api);
		html_text(h, ". ");
	}
	html_text(h, "For Prometheus: ");
	page_to(p, "metrics", "metrics");
	html_text(h, ". Curves by uPlot (");
	page_to(p, "assets/vendor/uplot/LICENSE.txt", "licence");
	html_text(h, ").");
	html_close(h);
	html_close(h);
	html_close(h);
	return html_done(h);
}

/* --- sections ------------------------------------------------------------- */

void page_title(struct page *p, const char *text, const char *lead)
{
	html_element(&p->h, "h1", NULL, text);
	if (lead)
		html_element(&p->h, "p", "lead", lead);
}

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
