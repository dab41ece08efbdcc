/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and shortens the texts that GitHub gets. */
#include "runner/publish/github/internal.h"
#include "runner/publish/render/render.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <time.h>

void text_clean(const char *from, char *out, size_t n)
{
	size_t at = 0;

	for (; *from && at + 1 < n; from++)
		out[at++] = (char)(*from >= ' ' && *from <= '~' ? *from : '?');
	out[at] = '\0';
}

/* --- names ---------------------------------------------------------------------- */

static bool text_is_plain(char c, const char *also)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr(also, c));
}

static bool text_name_ok(struct slice s)
{
	if (s.n == 0 || s.n > 100 || slice_eq(s, SLICE(".")) || slice_eq(s, SLICE("..")))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!text_is_plain(s.p[i], "._-"))
			return false;
	return true;
}

bool text_repository_ok(const char *repo)
{
	struct slice s = slice_of(repo), owner;

	return s.n < REPO_MAX && scan_until(&s, '/', s.n, &owner) && scan_lit(&s, SLICE("/")) &&
	       text_name_ok(owner) && text_name_ok(s);
}

bool text_id_ok(const char *id)
{
	size_t n = strlen(id);

	for (size_t i = 0; i < n; i++)
		if (!text_is_plain(id[i], "._-:"))
			return false;
	return n > 0 && n <= 150;
}

/* --- times ---------------------------------------------------------------------- */

void text_iso(uint64_t s, char out[ISO_MAX])
{
	const uint64_t last = UINT64_C(253402300799); /* the end of the year 9999 */
	time_t t = (time_t)(s < last ? s : last);
	struct tm tm;

	if (!gmtime_r(&t, &tm) || strftime(out, ISO_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		out[0] = '\0';
}

static bool text_number(struct slice *in, size_t digits, int *out)
{
	struct slice part = {in->p, digits};
	uint64_t v;

	if (in->n < digits || !scan_u64(&part, 10, 9999, &v) || part.n > 0)
		return false;
	in->p += digits;
	in->n -= digits;
	*out = (int)v;
	return true;
}

uint64_t text_iso_read(const char *s)
{
	struct slice in = slice_of(s);
	struct tm tm = {0};
	time_t t;

	if (!text_number(&in, 4, &tm.tm_year) || !scan_lit(&in, SLICE("-")) ||
	    !text_number(&in, 2, &tm.tm_mon) || !scan_lit(&in, SLICE("-")) ||
	    !text_number(&in, 2, &tm.tm_mday) || !scan_lit(&in, SLICE("T")) ||
	    !text_number(&in, 2, &tm.tm_hour) || !scan_lit(&in, SLICE(":")) ||
	    !text_number(&in, 2, &tm.tm_min) || !scan_lit(&in, SLICE(":")) ||
	    !text_number(&in, 2, &tm.tm_sec) || !slice_eq(in, SLICE("Z")))
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	t = timegm(&tm);
	return t > 0 ? (uint64_t)t : 0;
}

/* --- markers -------------------------------------------------------------------- */

/* Strips blanks around a line, and the '\r' that browsers' forms add. */
static struct slice text_bare(struct slice s)
{
	scan_blanks(&s);
	while (s.n > 0 && strchr(" \t\r", s.p[s.n - 1]))
		s.n--;
	return s;
}

bool text_next_marker(struct slice *io, struct slice *ret_key)
{
	static const struct slice end = {" -->", 4};
	struct slice line;

	while (scan_line(io, &line)) {
		line = text_bare(line);
		if (!scan_lit(&line, SLICE("<!-- fuzzcell-")) || line.n <= end.n ||
		    line.n >= KEY_MAX + end.n)
			continue;
		if (memcmp(line.p + line.n - end.n, end.p, end.n) != 0)
			continue;
		*ret_key = (struct slice){line.p, line.n - end.n};
		return true;
	}
	return false;
}

bool text_has_marker(const char *body, const char *key)
{
	struct slice rest = slice_of(body), one;

	while (text_next_marker(&rest, &one))
		if (slice_eq(one, slice_of(key)))
			return true;
	return false;
}

bool text_input(const char *body, struct slice *ret)
{
	const char *begin = strstr(body, RENDER_INPUT_BEGIN);
	const char *end = begin ? strstr(begin, RENDER_INPUT_END) : NULL;

	if (!end)
		return false;
	*ret = (struct slice){begin, (size_t)(end - begin) + strlen(RENDER_INPUT_END)};
	return true;
}

/* --- for GitHub ----------------------------------------------------------------- */

void text_base64(struct slice data, struct buf *out)
{
	enum { PART = 3 * 1024 };
	unsigned char text[PART / 3 * 4 + 1];

	for (size_t i = 0; i < data.n; i += PART) {
		size_t left = data.n - i, n = left < PART ? left : PART;

		(void)EVP_EncodeBlock(text, (const unsigned char *)data.p + i, (int)n);
		buf_puts(out, (const char *)text);
	}
}

/* The first `max` characters of UTF-8 text. */
static struct slice text_cut(struct slice s, size_t max)
{
	size_t seen = 0;

	for (size_t i = 0; i < s.n; i++)
		if (((unsigned char)s.p[i] & 0xc0) != 0x80 && seen++ == max)
			return (struct slice){s.p, i};
	return s;
}

void text_title(const char *title, struct buf *out)
{
	buf_put(out, text_cut(slice_of(title), 250));
}

/* The body is cut here, to leave room for the marker and a note; GitHub's limit is 65536. */
enum { BODY_MAX = 65000 };

int text_body(const char *body, const char *reproducer, const char *key, struct buf *out,
	      struct err *e)
{
	static const char place[] = "%REPRODUCER%";
	_autobuf_ struct buf all = BUF_INIT(out->max);
	const char *hit;
	struct slice part;

	while (!all.full && reproducer && (hit = strstr(body, place))) {
		buf_put(&all, (struct slice){body, (size_t)(hit - body)});
		buf_puts(&all, reproducer);
		body = hit + strlen(place);
	}
	buf_puts(&all, body);
	out->full |= all.full;
	part = text_cut(buf_slice(&all), BODY_MAX);
	buf_put(out, part);
	if (part.n < all.n)
		buf_puts(out, "\n\n(cut: too long for an issue)");
	if (!text_has_marker(buf_str(out), key))
		buf_printf(out, "\n\n<!-- fuzzcell-%s -->\n", key);
	return buf_check(out, e);
}
