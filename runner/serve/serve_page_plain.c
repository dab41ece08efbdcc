/* SPDX-License-Identifier: Apache-2.0 */
/* A page that says all that its model has, as nested lists. */
#include "base/cleanup.h"
#include "base/json.h"
#include "runner/serve/serve_html.h"
#include "runner/serve/serve_internal.h"

#include <string.h>

enum { PLAIN_DEPTH = 12 };

static int plain_value(const json_t *j, const char *root, unsigned depth, struct buf *out,
		       struct err *e);

static int plain_text(const char *s, struct buf *out, struct err *e)
{
	return html_text(out, slice_of(s), e);
}

static int plain_link(const char *href, const char *root, struct buf *out, struct err *e)
{
	int r = buf_addf(out, e, "<a href=\"%s", root);

	if (r == 0)
		r = plain_text(href, out, e);
	if (r == 0)
		r = buf_add(out, SLICE("\">"), e);
	if (r == 0)
		r = plain_text(href, out, e);
	return r < 0 ? r : buf_add(out, SLICE("</a>"), e);
}

static int plain_object(const json_t *j, const char *root, unsigned depth, struct buf *out,
			struct err *e)
{
	const char *key;
	json_t *value;
	int r = buf_add(out, SLICE("<dl>"), e);

	json_object_foreach((json_t *)(uintptr_t)j, key, value)
	{
		if (r == 0)
			r = buf_add(out, SLICE("<dt>"), e);
		if (r == 0)
			r = plain_text(key, out, e);
		if (r == 0)
			r = buf_add(out, SLICE("</dt><dd>"), e);
		if (r == 0 && strcmp(key, "href") == 0 && json_is_string(value))
			r = plain_link(json_string_value(value), root, out, e);
		else if (r == 0)
			r = plain_value(value, root, depth + 1, out, e);
		if (r == 0)
			r = buf_add(out, SLICE("</dd>\n"), e);
	}
	return r < 0 ? r : buf_add(out, SLICE("</dl>"), e);
}

static int plain_array(const json_t *j, const char *root, unsigned depth, struct buf *out,
		       struct err *e)
{
	int r = buf_add(out, SLICE("<ol>"), e);

	for (size_t i = 0; r == 0 && i < json_array_size(j); i++) {
		r = buf_add(out, SLICE("<li>"), e);
		if (r == 0)
			r = plain_value(json_array_get(j, i), root, depth + 1, out, e);
		if (r == 0)
			r = buf_add(out, SLICE("</li>\n"), e);
	}
	return r < 0 ? r : buf_add(out, SLICE("</ol>"), e);
}

static int plain_value(const json_t *j, const char *root, unsigned depth, struct buf *out,
		       struct err *e)
{
	_autofree_ char *text = NULL;
	int r;

	if (depth > PLAIN_DEPTH)
		return 0;
	if (json_is_object(j))
		return plain_object(j, root, depth, out, e);
	if (json_is_array(j))
		return plain_array(j, root, depth, out, e);
	if (json_is_string(j))
		return plain_text(json_string_value(j), out, e);
	r = json_print(j, 0, &text, e);
	return r < 0 ? r : plain_text(text, out, e);
}

static int plain_page(const char *title, const char *root, const json_t *model, struct buf *out,
		      struct err *e)
{
	int r =
	    buf_addf(out, e,
		     "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		     "<title>%s - fuzzcell</title></head>\n<body><nav>"
		     "<a href=\"%sindex.html\">Overview</a> <a href=\"%scrashes.html\">Crashes</a> "
		     "<a href=\"%sruns.html\">Runs</a> <a href=\"%shealth.html\">Health</a></nav>\n"
		     "<main><h1>%s</h1>\n",
		     title, root, root, root, root, title);

	if (r == 0)
		r = plain_value(model, root, 0, out, e);
	return r < 0 ? r : buf_add(out, SLICE("</main></body></html>\n"), e);
}

int page_overview(const json_t *model, struct buf *out, struct err *e)
{
	return plain_page("Overview", "", model, out, e);
}

int page_crashes(const json_t *model, struct buf *out, struct err *e)
{
	return plain_page("Crashes", "", model, out, e);
}

int page_runs(const json_t *model, struct buf *out, struct err *e)
{
	return plain_page("Runs", "", model, out, e);
}

int page_health(const json_t *model, struct buf *out, struct err *e)
{
	return plain_page("Health", "", model, out, e);
}

int page_target(const json_t *model, struct buf *out, struct err *e)
{
	return plain_page("Target", "../", model, out, e);
}

int page_crash(const json_t *model, struct buf *out, struct err *e)
{
	return plain_page("Crash", "../", model, out, e);
}

int page_run(const json_t *model, struct buf *out, struct err *e)
{
	return plain_page("Run", "../", model, out, e);
}
