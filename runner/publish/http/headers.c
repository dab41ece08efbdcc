/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/http/http.h"

#include <strings.h>
#include <time.h>

/* --- dates ----------------------------------------------------------------------- */

static bool scan_digits(struct slice *in, size_t n, int *out)
{
	int v = 0;

	if (in->n < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (in->p[i] < '0' || in->p[i] > '9')
			return false;
		v = 10 * v + (in->p[i] - '0');
	}
	in->p += n;
	in->n -= n;
	*out = v;
	return true;
}

static bool scan_month(struct slice *in, int *out)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (int m = 0; in->n >= 3 && m < 12; m++) {
		if (memcmp(in->p, names + (size_t)m * 3, 3) != 0)
			continue;
		in->p += 3;
		in->n -= 3;
		*out = m;
		return true;
	}
	return false;
}

/* strptime() is not used, because it expects the locale's month names. */
bool http_date(struct slice text, uint64_t *ret_s)
{
	struct tm tm = {0};
	struct slice day;
	int year;
	time_t t;

	if (!scan_until(&text, ',', 3, &day) || !scan_lit(&text, SLICE(", ")) ||
	    !scan_digits(&text, 2, &tm.tm_mday) || !scan_lit(&text, SLICE(" ")) ||
	    !scan_month(&text, &tm.tm_mon) || !scan_lit(&text, SLICE(" ")) ||
	    !scan_digits(&text, 4, &year) || !scan_lit(&text, SLICE(" ")) ||
	    !scan_digits(&text, 2, &tm.tm_hour) || !scan_lit(&text, SLICE(":")) ||
	    !scan_digits(&text, 2, &tm.tm_min) || !scan_lit(&text, SLICE(":")) ||
	    !scan_digits(&text, 2, &tm.tm_sec) || !slice_eq(text, SLICE(" GMT")))
		return false;
	if (tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 ||
	    tm.tm_sec > 60 || year < 1970)
		return false;
	tm.tm_year = year - 1900;
	t = timegm(&tm);
	if (t < 0)
		return false;
	*ret_s = (uint64_t)t;
	return true;
}

/* --- lines ----------------------------------------------------------------------- */

static bool whole_number(struct slice text, uint64_t *out)
{
	uint64_t v;

	if (!scan_u64(&text, 10, UINT64_MAX, &v) || text.n > 0)
		return false;
	*out = v;
	return true;
}

static void copy_url(struct slice text, char out[HTTP_URL_MAX])
{
	if (text.n == 0 || text.n >= HTTP_URL_MAX)
		return;
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] <= ' ' || text.p[i] > '~')
			return;
	memcpy(out, text.p, text.n);
	out[text.n] = '\0';
}

/* <URL>; rel="next", <URL>; rel="last" */
static void headers_read_link(struct http_headers *h, struct slice text)
{
	struct slice url, rest;

	while (text.n > 0) {
		scan_blanks(&text);
		if (!scan_lit(&text, SLICE("<")) || !scan_until(&text, '>', HTTP_URL_MAX, &url) ||
		    !scan_lit(&text, SLICE(">")))
			return;
		if (!scan_until(&text, ',', text.n, &rest)) {
			rest = text;
			text.n = 0;
		}
		(void)scan_lit(&text, SLICE(",")); /* the last has no comma */
		if (memmem(rest.p, rest.n, "rel=\"next\"", 10))
			copy_url(url, h->next);
	}
}

/* Computes retry_after_s from a date, once both headers were read, in either order. */
static void count_from_date(struct http_headers *h)
{
	if (h->retry_at_s == 0 || h->date_s == 0)
		return;
	h->retry_after_s = h->retry_at_s > h->date_s ? h->retry_at_s - h->date_s : 0;
	h->has_retry_after = true;
}

static void read_retry_after(struct http_headers *h, struct slice text)
{
	uint64_t v;

	if (whole_number(text, &v)) {
		h->retry_after_s = v;
		h->has_retry_after = true;
	} else if (http_date(text, &v)) {
		h->retry_at_s = v;
		count_from_date(h);
	}
}

static bool headers_named(struct slice name, const char *want)
{
	return name.n == strlen(want) && strncasecmp(name.p, want, name.n) == 0;
}

static void headers_read_field(struct http_headers *h, struct slice name, struct slice value)
{
	uint64_t v;

	if (headers_named(name, "date") && http_date(value, &v)) {
		h->date_s = v;
		count_from_date(h);
	} else if (headers_named(name, "retry-after"))
		read_retry_after(h, value);
	else if (headers_named(name, "x-ratelimit-remaining"))
		h->has_remaining = whole_number(value, &h->remaining);
	else if (headers_named(name, "x-ratelimit-reset") && whole_number(value, &v))
		h->reset_s = v;
	else if (headers_named(name, "location"))
		copy_url(value, h->location);
	else if (headers_named(name, "link"))
		headers_read_link(h, value);
}

void http_headers_line(struct http_headers *h, struct slice line)
{
	struct slice name;

	while (line.n > 0 && strchr("\r\n \t", line.p[line.n - 1]))
		line.n--;
	if (!scan_until(&line, ':', 64, &name) || !scan_lit(&line, SLICE(":")))
		return;
	scan_blanks(&line);
	headers_read_field(h, name, line);
}

static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._-~", c));
}

void http_path(const char *path, struct buf *out)
{
	for (; *path; path++)
		if (is_unreserved(*path) || *path == '/')
			buf_put(out, (struct slice){path, 1});
		else
			buf_printf(out, "%%%02X", (unsigned char)*path);
}
