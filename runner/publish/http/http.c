/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/http/http.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/memory.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdio.h>
#include <strings.h>

enum { REDIRECTS_MAX = 3, HOST_MAX = 256 };

struct http {
	CURL *curl;
	struct http_limits limits;
};

DEFINE_CLEANUP(CURLU *, curl_url_cleanup)
DEFINE_CLEANUP(char *, curl_free)

/* Wipes the headers, which may contain secrets. */
static void http_list_free(struct curl_slist *l)
{
	for (struct curl_slist *i = l; i; i = i->next)
		explicit_bzero(i->data, strlen(i->data));
	curl_slist_free_all(l);
}
DEFINE_CLEANUP(struct curl_slist *, http_list_free)

void http_reply_done(struct http_reply *r)
{
	if (r->body.p) /* it may be a token */
		explicit_bzero(r->body.p, r->body.n);
	buf_done(&r->body);
	*r = HTTP_REPLY_INIT;
}

/* --- URLs ----------------------------------------------------------------------- */

struct place {
	char host[HOST_MAX];
	char scheme[8], port[8];
	bool loopback;
};

static bool http_part(CURLU *u, CURLUPart what, unsigned flags, char *out, size_t n)
{
	CLEANUP(curl_free_p) char *text = NULL;

	if (curl_url_get(u, what, &text, flags) != CURLUE_OK || strlen(text) >= n)
		return false;
	memcpy(out, text, strlen(text) + 1);
	return true;
}

static bool http_is_loopback(const char *host)
{
	struct in_addr a;

	if (strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
		return true;
	return inet_pton(AF_INET, host, &a) == 1 && (ntohl(a.s_addr) >> 24) == 127;
}

static bool http_has(CURLU *u, CURLUPart what)
{
	CLEANUP(curl_free_p) char *text = NULL;

	return curl_url_get(u, what, &text, 0) == CURLUE_OK;
}

static bool http_place_of(CURLU *u, struct place *out)
{
	if (!http_part(u, CURLUPART_SCHEME, 0, out->scheme, sizeof(out->scheme)) ||
	    !http_part(u, CURLUPART_HOST, 0, out->host, sizeof(out->host)) ||
	    !http_part(u, CURLUPART_PORT, CURLU_DEFAULT_PORT, out->port, sizeof(out->port)))
		return false;
	out->loopback = http_is_loopback(out->host);
	return true;
}

/* The destination of a URL, if the URL is allowed. */
static int http_read_url(const char *url, struct place *out, struct err *e)
{
	CLEANUP(curl_url_cleanup_p) CURLU *u = curl_url();

	if (!u)
		return err_set(e, ENOMEM, "allocate a URL");
	if (strlen(url) >= HTTP_URL_MAX || curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK ||
	    !http_place_of(u, out))
		return err_set(e, EINVAL, "not a URL of http or https");
	if (http_has(u, CURLUPART_USER) || http_has(u, CURLUPART_PASSWORD))
		return err_set(e, EINVAL, "a URL with a user or a password in it");
	if (strcmp(out->scheme, "https") == 0 ||
	    (strcmp(out->scheme, "http") == 0 && out->loopback))
		return 0;
	return err_set(e, EINVAL, "'%s' needs TLS: only https is allowed", out->host);
}

int http_url_ok(const char *url, struct err *e)
{
	struct place p;

	return http_read_url(url, &p, e);
}

bool http_same_origin(const char *a, const char *b)
{
	struct place x, y;
	struct err e;

	return http_read_url(a, &x, &e) == 0 && http_read_url(b, &y, &e) == 0 &&
	       strcmp(x.scheme, y.scheme) == 0 && strcasecmp(x.host, y.host) == 0 &&
	       strcmp(x.port, y.port) == 0;
}

/* The URL of a redirect, which may be relative. */
static bool http_resolve(const char *from, const char *to, char out[HTTP_URL_MAX])
{
	CLEANUP(curl_url_cleanup_p) CURLU *u = curl_url();

	return u && curl_url_set(u, CURLUPART_URL, from, 0) == CURLUE_OK &&
	       curl_url_set(u, CURLUPART_URL, to, 0) == CURLUE_OK &&
	       http_part(u, CURLUPART_URL, 0, out, HTTP_URL_MAX) && http_same_origin(from, out);
}

static bool http_is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._-~", c));
}

void http_path(const char *path, struct buf *out)
{
	for (; *path; path++)
		if (http_is_unreserved(*path) || *path == '/')
			buf_put(out, (struct slice){path, 1});
		else
			buf_printf(out, "%%%02X", (unsigned char)*path);
}

/* --- the headers ---------------------------------------------------------------- */

#define LAST_DATE INT64_C(253402300799) /* the end of the year 9999 */

/* 0: the text is no date, or a date before 1970 or after the year 9999. */
static uint64_t headers_date(const char *text)
{
	time_t t = curl_getdate(text, NULL);

	return t > 0 && t <= LAST_DATE ? (uint64_t)t : 0;
}

static bool headers_whole_number(struct slice text, uint64_t *out)
{
	uint64_t v;

	if (!scan_u64(&text, 10, UINT64_MAX, &v) || text.n > 0)
		return false;
	*out = v;
	return true;
}

static void headers_copy_url(struct slice text, char out[HTTP_URL_MAX])
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
			headers_copy_url(url, h->next);
	}
}

/* Computes retry_after_s from a date, once both headers were read, in either order. */
static void headers_count_from_date(struct http_headers *h)
{
	if (h->retry_at_s == 0 || h->date_s == 0)
		return;
	h->retry_after_s = h->retry_at_s > h->date_s ? h->retry_at_s - h->date_s : 0;
	h->has_retry_after = true;
}

static void headers_read_retry_after(struct http_headers *h, const char *text)
{
	uint64_t v;

	if (headers_whole_number(slice_of(text), &v)) {
		h->retry_after_s = v;
		h->has_retry_after = true;
	} else if ((v = headers_date(text))) {
		h->retry_at_s = v;
		headers_count_from_date(h);
	}
}

void http_headers_field(struct http_headers *h, const char *name, const char *value)
{
	uint64_t v;

	if (strcasecmp(name, "date") == 0 && (v = headers_date(value))) {
		h->date_s = v;
		headers_count_from_date(h);
	} else if (strcasecmp(name, "retry-after") == 0)
		headers_read_retry_after(h, value);
	else if (strcasecmp(name, "x-ratelimit-remaining") == 0)
		h->has_remaining = headers_whole_number(slice_of(value), &h->remaining);
	else if (strcasecmp(name, "x-ratelimit-reset") == 0 &&
		 headers_whole_number(slice_of(value), &v))
		h->reset_s = v;
	else if (strcasecmp(name, "location") == 0)
		headers_copy_url(slice_of(value), h->location);
	else if (strcasecmp(name, "link") == 0)
		headers_read_link(h, slice_of(value));
}

/* --- the answer ----------------------------------------------------------------- */

struct sink {
	struct http_reply *reply;
	size_t headers_left;
	bool too_large;
};

static size_t http_take_body(char *p, size_t one, size_t n, void *arg)
{
	struct sink *s = arg;

	(void)one; /* always 1 */
	buf_put(&s->reply->body, (struct slice){p, n});
	s->too_large = s->reply->body.full;
	return s->too_large ? 0 : n;
}

/* libcurl keeps the headers; this only limits their size. */
static size_t http_count_header(char *p, size_t one, size_t n, void *arg)
{
	struct sink *s = arg;

	(void)p;
	(void)one;
	if (n > s->headers_left) {
		s->too_large = true;
		return 0;
	}
	s->headers_left -= n;
	return n;
}

/* Reads the headers of the last answer, without those of a 100 answer and without trailers. */
static void http_read_headers(CURL *c, struct http_headers *to)
{
	struct curl_header *h = NULL;

	while ((h = curl_easy_nextheader(c, CURLH_HEADER, -1, h)))
		http_headers_field(to, h->name, h->value);
}

/* --- a request ------------------------------------------------------------------ */

static int http_add_header(struct curl_slist **io, const char *line, struct err *e)
{
	struct curl_slist *l = curl_slist_append(*io, line);

	if (!l)
		return err_set(e, ENOMEM, "allocate a header");
	*io = l;
	return 0;
}

static int http_make_headers(const struct http_request *q, struct curl_slist **io, struct err *e)
{
	/* Without "Expect: 100-continue", which would cost a round trip. */
	int r = http_add_header(io, "Expect:", e);

	for (const char *const *h = q->headers; r == 0 && h && *h; h++)
		r = http_add_header(io, *h, e);
	if (r == 0 && q->authorization) {
		_autofree_ char *line = xasprintf("Authorization: %s", q->authorization);

		r = http_add_header(io, line, e);
		explicit_bzero(line, strlen(line));
	}
	return r;
}

#define SET(option, value) (rc = rc ? rc : curl_easy_setopt(c, (option), (value)))

static CURLcode http_set_limits(CURL *c, const struct http_limits *l, const struct place *p)
{
	CURLcode rc = CURLE_OK;

	SET(CURLOPT_PROTOCOLS_STR, p->loopback ? "http,https" : "https");
	if (p->loopback)
		SET(CURLOPT_PROXY, "");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	/* With HTTP/2, libcurl may repeat a refused request by itself. */
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)l->connect_ms);
	SET(CURLOPT_TIMEOUT_MS, (long)l->total_ms);
	SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
	SET(CURLOPT_LOW_SPEED_TIME, (long)l->stall_s);
	SET(CURLOPT_USERAGENT, "fuzzcell/" FUZZCELL_VERSION);
	/* CURLOPT_NOSIGNAL stays off: with it a closed connection would be a SIGPIPE. */
	return rc;
}

static CURLcode http_set_body(CURL *c, const struct http_request *q)
{
	CURLcode rc = CURLE_OK;

	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.n);
	SET(CURLOPT_POSTFIELDS, q->body.p ? q->body.p : "");
	SET(CURLOPT_CUSTOMREQUEST, q->method);
	/* On a reused connection, libcurl repeats a request by itself if the server closes the
	 * connection without an answer.  The request could then be carried out twice. */
	SET(CURLOPT_FRESH_CONNECT, 1L);
	return rc;
}

static CURLcode http_set_request(CURL *c, const struct http_request *q, const char *url,
				 struct curl_slist *headers, struct sink *sink)
{
	CURLcode rc = strcmp(q->method, "GET") == 0 ? CURLE_OK : http_set_body(c, q);

	SET(CURLOPT_URL, url);
	SET(CURLOPT_HTTPHEADER, headers);
	SET(CURLOPT_WRITEFUNCTION, http_take_body);
	SET(CURLOPT_WRITEDATA, sink);
	SET(CURLOPT_HEADERFUNCTION, http_count_header);
	SET(CURLOPT_HEADERDATA, sink);
	return rc;
}
#undef SET

/* Converts a failed transfer to an error. */
static int http_failed(struct http *h, const struct http_request *q, const struct place *p,
		       const struct sink *s, CURLcode rc, struct err *e)
{
	curl_off_t began = 0;

	if (s->too_large)
		return err_set(e, EMSGSIZE, "%s to '%s': the answer is too large", q->method,
			       p->host);
	/* The time before sending; 0: nothing was sent. */
	if (curl_easy_getinfo(h->curl, CURLINFO_PRETRANSFER_TIME_T, &began) != CURLE_OK)
		began = 1;
	return err_set(e, began == 0 ? ENOTCONN : EIO, "%s to '%s': %s", q->method, p->host,
		       curl_easy_strerror(rc));
}

static int http_perform(struct http *h, const struct http_request *q, const char *url,
			struct http_reply *ret, struct err *e)
{
	CLEANUP(http_list_free_p) struct curl_slist *headers = NULL;
	struct sink sink = {.reply = ret, .headers_left = h->limits.header_max};
	struct place p;
	long status = 0;
	CURLcode rc;
	int r = http_read_url(url, &p, e);

	if (r < 0)
		return r;
	r = http_make_headers(q, &headers, e);
	if (r < 0)
		return r;
	curl_easy_reset(h->curl); /* connections stay */
	ret->body = BUF_INIT(h->limits.reply_max);
	rc = http_set_limits(h->curl, &h->limits, &p);
	rc = rc ? rc : http_set_request(h->curl, q, url, headers, &sink);
	if (rc)
		return err_set(e, ENOMEM, "libcurl: %s", curl_easy_strerror(rc));
	if (fault_hit("http request", ECONNREFUSED))
		return err_set(e, ENOTCONN, "%s to '%s': no connection", q->method, p.host);
	rc = curl_easy_perform(h->curl);
	if (rc == CURLE_OK && fault_hit("http answer", ECONNRESET))
		rc = CURLE_RECV_ERROR;
	if (rc == CURLE_OK)
		rc = curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, NULL);
	if (rc)
		return http_failed(h, q, &p, &sink, rc, e);
	ret->status = status > 0 && status < 1000 ? (unsigned)status : 0;
	http_read_headers(h->curl, &ret->headers);
	return 0;
}

/* A 303 redirect, and by convention 301 and 302, turns a changing request into a GET.  So 302
 * and 303 are followed for a GET only.  301 is always followed, because GitHub uses it for moved
 * repositories. */
static bool http_is_followed(const struct http_request *q, const struct http_reply *r)
{
	bool get = strcmp(q->method, "GET") == 0;

	if (r->headers.location[0] == '\0')
		return false;
	return r->status == 301 || r->status == 307 || r->status == 308 ||
	       (get && (r->status == 302 || r->status == 303));
}

int http_request(struct http *h, const struct http_request *q, struct http_reply *ret,
		 struct err *e)
{
	char url[HTTP_URL_MAX], next[HTTP_URL_MAX];
	int r;

	if (strlen(q->url) >= sizeof(url))
		return err_set(e, EINVAL, "a URL of %zu bytes", strlen(q->url));
	memcpy(url, q->url, strlen(q->url) + 1);
	for (int hop = 0;; hop++) {
		r = http_perform(h, q, url, ret, e);
		if (r < 0) {
			http_reply_done(ret);
			return r;
		}
		if (hop == REDIRECTS_MAX || !http_is_followed(q, ret))
			return 0;
		ret->elsewhere = !http_resolve(url, ret->headers.location, next);
		if (ret->elsewhere)
			return 0;
		memcpy(url, next, strlen(next) + 1);
		http_reply_done(ret);
	}
}

/* --- the public functions ------------------------------------------------------- */

int http_new(const struct http_limits *limits, struct http **ret, struct err *e)
{
	_autofree_ struct http *h = xcalloc(1, sizeof(*h));

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(e, ENOMEM, "start libcurl");
	h->limits = *limits;
	h->curl = curl_easy_init();
	if (!h->curl) {
		curl_global_cleanup();
		return err_set(e, ENOMEM, "start libcurl");
	}
	*ret = take_ptr(&h);
	return 0;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	curl_easy_cleanup(h->curl);
	curl_global_cleanup();
	free(h);
}
