/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_HTTP_HTTP_H
#define RUNNER_PUBLISH_HTTP_HTTP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/scan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* One HTTP request after the other, through libcurl (http.c is the only file that knows
 * it).  It blocks, so it runs in a forked child, never in the supervisor.
 *
 * HTTPS with the machine's certificates, TLS 1.2 at least; plain HTTP only to the loopback
 * interface, and then without a proxy.  Otherwise the proxy that the environment names.
 * A redirect is followed (three at most) only within the same scheme, host and port.
 * The answer is hostile and bounded in bytes and time.  No error names more of a URL than
 * its host, and none a header. */

struct http_limits {
	uint32_t connect_ms; /* name, connection and TLS */
	uint32_t total_ms;
	uint32_t stall_s;  /* nothing moved for so long: given up */
	size_t reply_max;  /* bytes of an answer's body */
	size_t header_max; /* and of its headers */
};

#define HTTP_LIMITS                                  \
	((struct http_limits){.connect_ms = 15000,   \
			      .total_ms = 120000,    \
			      .stall_s = 30,         \
			      .reply_max = 16 << 20, \
			      .header_max = 64 << 10})

enum { HTTP_URL_MAX = 2048 };

/* What an answer's headers say; a field whose header is missing or unreadable stays as
 * it is in {0}. */
struct http_headers {
	uint64_t date_s; /* the server's clock, Unix seconds; 0: not said */
	bool has_retry_after;
	uint64_t retry_after_s; /* from now, whichever form the server chose */
	uint64_t retry_at_s;	/* by the server's clock, when it chose a date; else 0 */
	bool has_remaining;	/* x-ratelimit-remaining */
	uint64_t remaining;
	uint64_t reset_s;	     /* x-ratelimit-reset, Unix seconds; 0: not said */
	char location[HTTP_URL_MAX]; /* "" */
	char next[HTTP_URL_MAX];     /* of link's rel="next"; "" */
};

/* One header line, with or without its line end, into what was read before. */
void http_headers_line(struct http_headers *h, struct slice line);
/* "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110), up to the year 9999. */
bool http_date(struct slice text, uint64_t *ret_s);

struct http_request {
	const char *method; /* "GET", "POST", "PUT", "PATCH" */
	const char *url;
	const char *const *headers; /* "Name: value", NULL at the end; may be NULL */
	const char *authorization;  /* that header's value, a secret; may be NULL */
	struct slice body;	    /* p NULL: none */
};

struct http_reply {
	unsigned status; /* 200..599 */
	bool elsewhere;	 /* a redirect to another scheme, host or port: not followed */
	struct http_headers headers;
	struct buf body;
};
#define HTTP_REPLY_INIT ((struct http_reply){.body = BUF_INIT(0)})
void http_reply_done(struct http_reply *r); /* done is empty; wipes the body */

struct http;
MUST_CHECK int http_new(const struct http_limits *limits, struct http **ret, struct err *e);
void http_free(struct http *h); /* NULL is fine */

/* 0: the server answered, and *ret (HTTP_REPLY_INIT; http_reply_done() it) is the whole
 * answer, whatever its status.  Else *ret is empty, and
 *	-ENOTCONN		nothing was sent: no name, no connection, no TLS
 *	-EINVAL			nothing was sent: the URL is none that we use
 *	-ENOMEM			nothing was sent
 *	-EIO			may have been sent and done: no answer, or a cut one
 *	-EMSGSIZE		sent, and the answer is above the limits */
MUST_CHECK int http_request(struct http *h, const struct http_request *q, struct http_reply *ret,
			    struct err *e);

static inline bool http_may_be_done(int r)
{
	return r != 0 && r != -ENOTCONN && r != -EINVAL && r != -ENOMEM;
}

/* Whether it is a URL that http_request() takes; the error does not repeat it. */
MUST_CHECK int http_url_ok(const char *url, struct err *e);
/* Both have the same scheme, host and port; false also for what is no URL. */
bool http_same_origin(const char *a, const char *b);
/* A path with all but unreserved characters and slashes as %XX (RFC 3986, section 2.3). */
MUST_CHECK int http_path(const char *path, struct buf *out, struct err *e);

#endif
