/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/serve/serve_html.h"

#include <stdbool.h>
#include <stdio.h>

/* As bytes of UTF-8: C1 controls, and what reorders or hides text: U+061C, U+200B-200F,
 * U+202A-202E, U+2060-2069, U+FEFF.  Returns how many bytes to leave out. */
static size_t hidden(struct slice s)
{
	const unsigned char *p = (const unsigned char *)s.p;

	if (s.n >= 2 && p[0] == 0xc2 && p[1] < 0xa0)
		return 2;
	if (s.n >= 2 && p[0] == 0xd8 && p[1] == 0x9c)
		return 2;
	if (s.n < 3)
		return 0;
	if (p[0] == 0xe2 && p[1] == 0x80 &&
	    ((p[2] >= 0x8b && p[2] <= 0x8f) || (p[2] >= 0xaa && p[2] <= 0xae)))
		return 3;
	if (p[0] == 0xe2 && p[1] == 0x81 && p[2] >= 0xa0 && p[2] <= 0xa9)
		return 3;
	return p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf ? 3 : 0;
}

static const char *reference(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* What stands for the beginning of s, and how long that is; NULL: the byte itself. */
static const char *replacement(struct slice s, size_t *ret_n)
{
	unsigned char c = (unsigned char)*s.p;

	*ret_n = 1;
	if (c < 0x20 || c == 0x7f)
		return c == '\n' || c == '\t' ? NULL : "\xef\xbf\xbd";
	if (c < 0x80)
		return reference(*s.p);
	*ret_n = hidden(s);
	if (*ret_n)
		return "\xef\xbf\xbd";
	*ret_n = 1;
	return NULL;
}

int html_text(struct buf *out, struct slice s, struct err *e)
{
	size_t from = 0, n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s.n; i += n) {
		const char *by = replacement((struct slice){s.p + i, s.n - i}, &n);

		if (!by)
			continue;
		r = buf_add(out, (struct slice){s.p + from, i - from}, e);
		if (r == 0)
			r = buf_add(out, slice_of(by), e);
		from = i + n;
	}
	return r < 0 ? r : buf_add(out, (struct slice){s.p + from, s.n - from}, e);
}

static bool unreserved(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '.' || c == '_' || c == '-' || c == '~';
}

int html_url_part(struct buf *out, struct slice s, struct err *e)
{
	char hex[4];
	int r = 0;

	for (size_t i = 0; r == 0 && i < s.n; i++) {
		if (unreserved(s.p[i])) {
			r = buf_add(out, (struct slice){s.p + i, 1}, e);
			continue;
		}
		snprintf(hex, sizeof(hex), "%%%02X", (unsigned char)s.p[i]);
		r = buf_add(out, slice_of(hex), e);
	}
	return r;
}
