/* SPDX-License-Identifier: Apache-2.0 */
/* One POST to a webhook. */
#include "runner/publish/webhook/webhook.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/publish/http/http.h"
#include "runner/publish/http/token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SECRET_MAX = 4096, HEADER_MAX = 400 };

struct webhook {
	const struct webhook_config *config;
	struct http *http;
	char *url, *key; /* NULL: not yet read; key "": not signed */
};

static void webhook_wipe(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

int webhook_new(const struct webhook_config *c, const struct http_limits *limits,
		struct webhook **ret, struct err *e)
{
	const struct http_limits usual = HTTP_LIMITS;
	struct webhook *w = xcalloc(1, sizeof(*w));
	int r;

	w->config = c;
	r = http_new(limits ? limits : &usual, &w->http, e);
	if (r < 0) {
		webhook_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void webhook_free(struct webhook *w)
{
	if (!w)
		return;
	http_free(w->http);
	webhook_wipe(w->url);
	webhook_wipe(w->key);
	free(w);
}

/* Copies a secret from a file's text, without trailing blanks. */
static int take_secret(const char *path, char *text, size_t n, char **ret, struct err *e)
{
	while (n > 0 && strchr(" \t\r\n", text[n - 1]))
		n--;
	if (n == 0 || memchr(text, '\0', n))
		return err_set(e, EINVAL, "'%s' holds no secret", path);
	*ret = xstrndup(text, n);
	return 0;
}

static int read_secret(const char *path, char **ret, struct err *e)
{
	char text[SECRET_MAX];
	size_t n = 0;
	int r = token_read_file(path, text, sizeof(text), &n, e);

	r = r ? r : take_secret(path, text, n, ret, e);
	explicit_bzero(text, sizeof(text));
	return r;
}

static int read_secrets(struct webhook *w, struct err *e)
{
	const struct webhook_config *c = w->config;
	int r = 0;

	if (!w->url && c->url_file)
		r = read_secret(c->url_file, &w->url, e);
	else if (!w->url && c->url)
		w->url = xstrdup(c->url);
	if (r == 0 && !w->url)
		return err_set(e, EINVAL, "it has no URL");
	if (r == 0 && !w->key && c->secret_file)
		r = read_secret(c->secret_file, &w->key, e);
	return r;
}

static void webhook_say(struct delivery *d, enum delivery_result result, const char *why)
{
	d->result = result;
	snprintf(d->why, sizeof(d->why), "%.250s", why);
}

/* 408, 425 and 429 mean "not now" (RFC 9110, 8470, 6585). */
static void webhook_judge(const struct http_reply *r, struct delivery *d)
{
	bool busy = r->status == 408 || r->status == 425 || r->status == 429 || r->status >= 500;
	char why[128];

	if (r->status >= 200 && r->status < 300) {
		d->result = DELIVERY_DONE;
		return;
	}
	snprintf(why, sizeof(why), "the server answered with status %u%s", r->status,
		 r->elsewhere ? ": it points to another host, and was not followed" : "");
	webhook_say(d, busy ? DELIVERY_LATER : DELIVERY_REFUSED, why);
	d->whole_host = busy;
	if (busy && r->headers.has_retry_after)
		d->wait_s = r->headers.retry_after_s;
}

static void send_body(struct webhook *w, struct delivery *d, const char *body)
{
	char event[HEADER_MAX], id[HEADER_MAX], mac[HEADER_MAX] = "", sum[WEBHOOK_SIGNATURE];
	const char *headers[] = {"Content-Type: application/json", event, id, NULL, NULL};
	struct http_request q = {"POST", w->url, headers, NULL, slice_of(body)};
	struct http_reply reply = HTTP_REPLY_INIT;
	const char *name = json_string_value(json_object_get(d->event, "event"));
	struct err e;
	int r = 0;

	snprintf(event, sizeof(event), "X-Fuzzcell-Event: %.40s", name ? name : "?");
	snprintf(id, sizeof(id), "X-Fuzzcell-Delivery: %.300s", d->id);
	if (w->key) {
		r = webhook_sign(slice_of(w->key), slice_of(body), sum, &e);
		snprintf(mac, sizeof(mac), "X-Fuzzcell-Signature-256: %s", r == 0 ? sum : "");
		headers[3] = mac;
	}
	if (r == 0)
		r = http_request(w->http, &q, &reply, &e);
	if (r == 0)
		webhook_judge(&reply, d);
	else
		webhook_say(d, r == -EINVAL ? DELIVERY_REFUSED : DELIVERY_LATER, e.msg);
	d->whole_host |= r < 0;
	http_reply_done(&reply);
}

/* After a lost answer the same request is sent again; the receiver recognises its id. */
void webhook_deliver(struct webhook *w, struct delivery *d)
{
	const json_t *payload = json_object_get(d->event, "payload");
	_autofree_ char *body = NULL;
	struct err e;

	if (!json_is_object(payload)) {
		webhook_say(d, DELIVERY_REFUSED, "the entry has no payload");
		return;
	}
	if (read_secrets(w, &e) < 0) {
		webhook_say(d, DELIVERY_LATER, e.msg);
		d->unasked = true;
		return;
	}
	if (json_print(payload, 0, &body, &e) < 0)
		webhook_say(d, DELIVERY_LATER, e.msg);
	else
		send_body(w, d, body);
}
