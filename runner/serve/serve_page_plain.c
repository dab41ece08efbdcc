/* SPDX-License-Identifier: Apache-2.0 */
/* A page that says all that its model has, as nested lists. */
#include "base/cleanup.h"
#include "base/json.h"
#include "runner/serve/serve_html.h"
#include "runner/serve/serve_internal.h"

#include <string.h>

enum { PLAIN_DEPTH = 8 };

static void plain_value(struct html *h, const json_t *j, const char *root, unsigned depth);

static void plain_object(struct html *h, const json_t *j, const char *root, unsigned depth)
{
	const char *key;
	json_t *value;

	html_open(h, "dl");
	json_object_foreach((json_t *)(uintptr_t)j, key, value)
	{
		html_element(h, "dt", NULL, key);
		html_open(h, "dd");
		if (strcmp(key, "href") == 0 && json_is_string(value)) {
			html_open(h, "a");
			html_href(h, root, json_string_value(value));
			html_text(h, json_string_value(value));
			html_close(h);
		} else {
			plain_value(h, value, root, depth + 1);
		}
		html_close(h);
	}
	html_close(h);
}

static void plain_array(struct html *h, const json_t *j, const char *root, unsigned depth)
{
	html_open(h, "ol");
	for (size_t i = 0; i < json_array_size(j); i++) {
		html_open(h, "li");
		plain_value(h, json_array_get(j, i), root, depth + 1);
		html_close(h);
	}
	html_close(h);
}

static void plain_value(struct html *h, const json_t *j, const char *root, unsigned depth)
{
	_autofree_ char *text = NULL;

	if (depth > PLAIN_DEPTH || h->r < 0)
		return;
	if (json_is_object(j))
		plain_object(h, j, root, depth);
	else if (json_is_array(j))
		plain_array(h, j, root, depth);
	else if (json_is_string(j))
		html_text(h, json_string_value(j));
	else if ((h->r = json_print(j, 0, &text, h->e)) == 0)
		html_text(h, text);
}

static int plain_page(const char *title, const char *root, const json_t *model, struct buf *out,
		      struct err *e)
{
	static const char *const pages[][2] = {{"index.html", "Overview"},
					       {"crashes.html", "Crashes"},
					       {"runs.html", "Runs"},
					       {"health.html", "Health"}};
	struct html h = html_on(out, e);

	html_doctype(&h);
	html_open(&h, "html");
	html_attr(&h, "lang", "en");
	html_open(&h, "head");
	html_open(&h, "meta");
	html_attr(&h, "charset", "utf-8");
	html_element(&h, "title", NULL, title);
	html_close(&h);
	html_open(&h, "body");
	html_open(&h, "nav");
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		html_open(&h, "a");
		html_href(&h, root, pages[i][0]);
		html_text(&h, pages[i][1]);
		html_close(&h);
		html_text(&h, " ");
	}
	html_close(&h);
	html_open(&h, "main");
	html_element(&h, "h1", NULL, title);
	plain_value(&h, model, root, 0);
	html_close(&h);
	html_close(&h);
	html_close(&h);
	return html_done(&h);
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
