/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_HTTP_HTTP_H
#define RUNNER_PUBLISH_HTTP_HTTP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/scan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* HTTP requests, one at a time, with libcurl (only http.c uses it).  Requests block,
 * so they run in a forked child, never in the supervisor.
 *
 * HTTPS uses the machine's certificates and TLS 1.2 or later.  Plain HTTP is allowed only to the
 * loopback interface, without a proxy.  Other requests use the proxy that the environment names.
 * At most three redirects are followed, only to the same scheme, host and port.  The answer is
 * hostile: its bytes and its time are limited.  Errors contain no headers, and no more of a URL
 * than its host. */

struct http_limits {
	uint32_t connect_ms; /* resolving the name, connecting, and TLS */
	uint32_t total_ms;
	uint32_t stall_s;  /* gives up after this time without data */
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

/* The headers of an answer.  A field of a missing or unreadable header is zero or empty. */
struct http_headers {
	uint64_t date_s; /* the server's clock, Unix seconds; 0: unknown */
	bool has_retry_after;
	uint64_t retry_after_s; /* from now, in both forms of the header */
	uint64_t retry_at_s;	/* by the server's clock, if the header has a date; else 0 */
	bool has_remaining;	/* x-ratelimit-remaining */
	uint64_t remaining;
	uint64_t reset_s;	     /* x-ratelimit-reset, Unix seconds; 0: unknown */
	char location[HTTP_URL_MAX]; /* "" */
	char next[HTTP_URL_MAX];     /* the URL of link's rel="next"; "" */
};

/* Adds one header, without blanks around its value, to h.  Of several valid ones the last counts.
 * Dates have the forms that curl_getdate() reads. */
void http_headers_field(struct http_headers *h, const char *name, const char *value);

struct http_request {
	const char *method; /* "GET", "POST", "PUT", "PATCH" */
	const char *url;
	const char *const *headers; /* "Name: value", NULL at the end; may be NULL */
	const char *authorization;  /* that header's value, a secret; may be NULL */
	struct slice body;	    /* p NULL: none */
};

struct http_reply {
	unsigned status; /* 200..599 */
	bool elsewhere;	 /* a redirect to another scheme, host or port was not followed */
	struct http_headers headers;
	struct buf body;
};
#define HTTP_REPLY_INIT ((struct http_reply){.body = BUF_INIT(0)})
void http_reply_done(struct http_reply *r); /* wipes the body; leaves HTTP_REPLY_INIT */

struct http;
MUST_CHECK int http_new(const struct http_limits *limits, struct http **ret, struct err *e);
void http_free(struct http *h); /* NULL is fine */

/* 0: the server answered; *ret (HTTP_REPLY_INIT before the call) has the complete answer,
 * whatever its status.  Call http_reply_done() on it.  On errors *ret is empty:
 *	-ENOTCONN		nothing was sent: no name, no connection, no TLS
 *	-EINVAL			nothing was sent: the URL is not allowed
 *	-ENOMEM			nothing was sent
 *	-EIO			perhaps sent and carried out: no answer, or an incomplete one
 *	-EMSGSIZE		sent, but the answer exceeds the limits */
MUST_CHECK int http_request(struct http *h, const struct http_request *q, struct http_reply *ret,
			    struct err *e);

static inline bool http_may_be_done(int r)
{
	return r != 0 && r != -ENOTCONN && r != -EINVAL && r != -ENOMEM;
}

/* Checks that http_request() accepts the URL; the error does not contain it. */
MUST_CHECK int http_url_ok(const char *url, struct err *e);
/* True if both have the same scheme, host and port; false if either is not a URL. */
bool http_same_origin(const char *a, const char *b);
/* Percent-encodes a path, except unreserved characters and slashes (RFC 3986, section 2.3). */
void http_path(const char *path, struct buf *out);

#endif
