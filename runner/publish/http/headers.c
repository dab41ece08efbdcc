/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/http/http.h"

#include <curl/curl.h>
#include <strings.h>

#define LAST_DATE INT64_C(253402300799) /* the end of the year 9999 */

/* 0: the text is no date, or a date before 1970 or after the year 9999. */
static uint64_t http_date(const char *text)
{
	time_t t = curl_getdate(text, NULL);

	return t > 0 && t <= LAST_DATE ? (uint64_t)t : 0;
}

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

static void read_retry_after(struct http_headers *h, const char *text)
{
	uint64_t v;

	if (whole_number(slice_of(text), &v)) {
		h->retry_after_s = v;
		h->has_retry_after = true;
	} else if ((v = http_date(text))) {
		h->retry_at_s = v;
		count_from_date(h);
	}
}

void http_headers_field(struct http_headers *h, const char *name, const char *value)
{
	uint64_t v;

	if (strcasecmp(name, "date") == 0 && (v = http_date(value))) {
		h->date_s = v;
		count_from_date(h);
	} else if (strcasecmp(name, "retry-after") == 0)
		read_retry_after(h, value);
	else if (strcasecmp(name, "x-ratelimit-remaining") == 0)
		h->has_remaining = whole_number(slice_of(value), &h->remaining);
	else if (strcasecmp(name, "x-ratelimit-reset") == 0 && whole_number(slice_of(value), &v))
		h->reset_s = v;
	else if (strcasecmp(name, "location") == 0)
		copy_url(slice_of(value), h->location);
	else if (strcasecmp(name, "link") == 0)
		headers_read_link(h, slice_of(value));
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
