/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/serve/page/html.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct html html_on(struct buf *out, struct err *e)
{
	return (struct html){.out = out, .e = e};
}

static void page_html_add(struct html *h, struct slice s)
{
	if (h->r == 0)
		buf_put(h->out, s);
}

static void page_html_refuse(struct html *h, const char *what, const char *name)
{
	if (h->r == 0)
		h->r = err_set(h->e, EINVAL, "write HTML: %s '%s'", what, name);
}

static bool among(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strcasecmp(name, *list) == 0)
			return true;
	return false;
}

static bool is_void(const char *name)
{
	static const char *const names[] = {"meta", "link", "br", "img", "input", "hr", NULL};

	return among(name, names);
}

/* The content of these elements is not markup, so escaping does not protect it. */
static bool is_raw(const char *name)
{
	static const char *const names[] = {"script", "style",	   "textarea", "title",
					    "iframe", "noscript",  "noembed",  "noframes",
					    "xmp",    "plaintext", NULL};

	return among(name, names);
}

static bool page_html_is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");

	return n > 0 && n < HTML_TEXT_MAX && !name[n] && strchr(letters, name[0]);
}

static bool is_attribute(const char *name)
{
	static const char *const never[] = {"style",  "srcdoc", "formaction",
					    "srcset", "ping",	NULL};

	return page_html_is_name(name) && strncasecmp(name, "on", 2) != 0 && !among(name, never);
}

static void end_tag(struct html *h)
{
	if (h->in_tag)
		page_html_add(h, SLICE(">"));
	h->in_tag = false;
}

static struct slice entity(char c)
{
	switch (c) {
	case '&':
		return SLICE("&amp;");
	case '<':
		return SLICE("&lt;");
	case '>':
		return SLICE("&gt;");
	case '"':
		return SLICE("&quot;");
	case '\'':
		return SLICE("&#39;");
	default:
		return SLICE("");
	}
}

/* The number of first bytes that need no escaping. */
static size_t harmless(struct slice s)
{
	size_t n = 0;

	while (n < s.n && ((s.p[n] >= ' ' && s.p[n] <= '~' && entity(s.p[n]).n == 0) ||
			   s.p[n] == '\n' || s.p[n] == '\t'))
		n++;
	return n;
}

/* Escapes one character; returns its number of bytes. */
static size_t page_html_odd(struct html *h, struct slice s)
{
	struct slice known = entity(s.p[0]);
	uint32_t c = 0;
	size_t n = utf8_next(s, &c);

	if (known.n > 0)
		page_html_add(h, known);
	else if (n > 1 && utf8_is_plain(c))
		page_html_add(h, (struct slice){s.p, n});
	else if (h->r == 0 && n > 1)
		buf_printf(h->out, "\\u%04x", (unsigned)c);
	else if (h->r == 0)
		buf_printf(h->out, "\\x%02x", (unsigned char)s.p[0]);
	return n ? n : 1;
}

static void page_html_escaped(struct html *h, struct slice s)
{
	while (h->r == 0 && s.n > 0) {
		size_t n = harmless(s);

		if (n > 0)
			page_html_add(h, (struct slice){s.p, n});
		else
			n = page_html_odd(h, s);
		s = (struct slice){s.p + n, s.n - n};
	}
}

void html_doctype(struct html *h)
{
	if (h->depth > 0 || h->out->n > 0)
		page_html_refuse(h, "not at the beginning:", "doctype");
	page_html_add(h, SLICE("<!DOCTYPE html>\n"));
}

void html_open(struct html *h, const char *name)
{
	end_tag(h);
	if (!page_html_is_name(name))
		page_html_refuse(h, "no name of an element:", name);
	else if (h->depth == HTML_DEPTH)
		page_html_refuse(h, "too deep:", name);
	else if (h->depth > 0 && is_raw(h->open[h->depth - 1]))
		page_html_refuse(h, "no element belongs in", h->open[h->depth - 1]);
	if (h->r < 0)
		return;
	page_html_add(h, SLICE("<"));
	page_html_add(h, slice_of(name));
	h->in_tag = true;
	if (!is_void(name))
		h->open[h->depth++] = name;
}

void html_close(struct html *h)
{
	end_tag(h);
	if (h->r == 0 && h->depth == 0)
		page_html_refuse(h, "nothing is open:", "");
	if (h->r < 0)
		return;
	h->depth--;
	page_html_add(h, SLICE("</"));
	page_html_add(h, slice_of(h->open[h->depth]));
	page_html_add(h, SLICE(">"));
	/* One line a row keeps the source readable. */
	if (strcmp(h->open[h->depth], "tr") == 0 || strcmp(h->open[h->depth], "section") == 0)
		page_html_add(h, SLICE("\n"));
}

int html_done(struct html *h)
{
	end_tag(h);
	if (h->depth > 0)
		page_html_refuse(h, "still open:", h->open[h->depth - 1]);
	return h->r < 0 ? h->r : buf_check(h->out, h->e);
}

/* Accepts "https://...", "http://..." and relative paths: no colon before the first slash. */
static bool address_ok(struct slice s)
{
	static const struct slice schemes[] = {{"https://", 8}, {"http://", 7}};
	size_t i;

	for (i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (s.n > schemes[i].n && memcmp(s.p, schemes[i].p, schemes[i].n) == 0)
			return true;
	if (s.n > 1 && (s.p[0] == '/' || s.p[0] == '\\') && (s.p[1] == '/' || s.p[1] == '\\'))
		return false; /* names another server */
	for (i = 0; i < s.n && !strchr("/?#", s.p[i]); i++)
		if (s.p[i] == ':' || (unsigned char)s.p[i] <= ' ')
			return false;
	return true;
}

static bool is_address(const char *name)
{
	static const char *const names[] = {"href", "src",    "action", "cite",
					    "data", "poster", NULL};

	return among(name, names);
}

static bool may_attr(struct html *h, const char *name)
{
	if (!h->in_tag)
		page_html_refuse(h, "no open tag for the attribute", name);
	else if (!is_attribute(name))
		page_html_refuse(h, "no name of an attribute:", name);
	return h->r == 0;
}

static void attribute(struct html *h, const char *name, struct slice value)
{
	if (!may_attr(h, name))
		return;
	if (is_address(name) && !address_ok(value))
		value = SLICE("#");
	page_html_add(h, SLICE(" "));
	page_html_add(h, slice_of(name));
	page_html_add(h, SLICE("=\""));
	page_html_escaped(h, value);
	page_html_add(h, SLICE("\""));
}

void html_attr(struct html *h, const char *name, const char *value)
{
	if (value)
		attribute(h, name, slice_of(value));
}

void html_href(struct html *h, const char *root, const char *path)
{
	/* root is not put before an address with a scheme; it becomes "#". */
	if (path && address_ok(slice_of(path)) && *path != '/' && !strstr(path, "://"))
		html_attrf(h, "href", "%s%s", root, path);
	else if (path)
		html_attr(h, "href", "#");
}

void html_flag(struct html *h, const char *name)
{
	if (!may_attr(h, name))
		return;
	page_html_add(h, SLICE(" "));
	page_html_add(h, slice_of(name));
}

/* NULL: h has an error. */
__attribute__((format(printf, 2, 0))) static char *formatted(struct html *h, const char *fmt,
							     va_list ap)
{
	return h->r < 0 ? NULL : xvasprintf(fmt, ap);
}

void html_attrf(struct html *h, const char *name, const char *fmt, ...)
{
	_autofree_ char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	s = formatted(h, fmt, ap);
	va_end(ap);
	html_attr(h, name, s);
}

void html_textn(struct html *h, struct slice text)
{
	/* Of these elements, only a title may have text, because entities work in it. */
	if (text.n > 0 && h->depth > 0 && is_raw(h->open[h->depth - 1]) &&
	    strcmp(h->open[h->depth - 1], "title") != 0)
		page_html_refuse(h, "no text belongs in", h->open[h->depth - 1]);
	end_tag(h);
	page_html_escaped(h, text);
}

void html_text(struct html *h, const char *text)
{
	if (text)
		html_textn(h, slice_of(text));
}

void html_textf(struct html *h, const char *fmt, ...)
{
	_autofree_ char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	s = formatted(h, fmt, ap);
	va_end(ap);
	html_text(h, s);
}

void html_begin(struct html *h, const char *name, const char *class)
{
	html_open(h, name);
	html_attr(h, "class", class);
}

void html_element(struct html *h, const char *name, const char *class, const char *text)
{
	html_begin(h, name, class);
	html_text(h, text);
	html_close(h);
}

void html_url_part(struct buf *out, struct slice s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";

	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] && strchr(plain, s.p[i]))
			buf_put(out, (struct slice){s.p + i, 1});
		else
			buf_printf(out, "%%%02X", (unsigned char)s.p[i]);
}

/* -1: not a digit.  Browsers use upper case. */
static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte of "%3C"; -1: invalid. */
static int hex_byte(struct slice s)
{
	int high = s.n < 3 ? -1 : hex_digit(s.p[1]);
	int low = s.n < 3 ? -1 : hex_digit(s.p[2]);

	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

int html_url_next(struct slice *in)
{
	size_t taken = *in->p == '%' ? 3 : 1;
	int c = taken == 3 ? hex_byte(*in) : (unsigned char)*in->p;

	if (c >= 0)
		*in = (struct slice){in->p + taken, in->n - taken};
	return c;
}
