/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/webhook.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/publish/http/http.h"
#include "runner/publish/http/token.h"
#include "runner/publish/render/render.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

/* --- the body; no network ------------------------------------------------------- */

/* Slack's limits: 3000 characters for a section's text, 2000 for a field, and 50 blocks a
 * message.  Texts here are short lines, which are cut well below. */
enum {
	SLACK_TEXT_MAX = 2800,
	SLACK_FIELD_MAX = 900,
	PAYLOAD_PART_MAX = 300,
	PAYLOAD_ROOM = 64 << 10
};

bool webhook_wants(const struct webhook_config *c, const char *event)
{
	if (c->events.n == 0 || strcmp(event, "alarm") == 0)
		return true;
	for (size_t i = 0; i < c->events.n; i++)
		if (strcmp(c->events.v[i], event) == 0)
			return true;
	return false;
}

/* Plain text, one line. */
static void payload_plain(const char *text, size_t max, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(PAYLOAD_ROOM);

	render_clean((struct slice){text, strnlen(text, max + 1)}, RENDER_LINE, NULL, &clean);
	out->full |= clean.full;
	buf_put(out, render_cut(buf_slice(&clean), max));
}

/* Slack's markup has three characters to escape.  Within code nothing is markup, but a backtick
 * ends it. */
static void payload_mrkdwn(const char *text, bool code, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(PAYLOAD_ROOM);

	payload_plain(text, PAYLOAD_PART_MAX, &clean);
	out->full |= clean.full;
	buf_puts(out, code ? "`" : "");
	for (size_t i = 0; i < clean.n; i++) {
		struct slice c = {clean.p + i, 1};

		if (*c.p == '&')
			c = SLICE("&amp;");
		else if (*c.p == '<')
			c = SLICE("&lt;");
		else if (*c.p == '>')
			c = SLICE("&gt;");
		else if (*c.p == '`')
			c = SLICE("'");
		buf_put(out, c);
	}
	buf_puts(out, code ? "`" : "");
}

/* How names are written: unchanged, or as Slack's code. */
typedef void write_fn(const char *text, struct buf *out);

static void payload_as_plain(const char *text, struct buf *out)
{
	payload_plain(text, PAYLOAD_PART_MAX, out);
}

static void payload_as_code(const char *text, struct buf *out)
{
	payload_mrkdwn(*text ? text : "?", true, out);
}

static const char *payload_verb(const char *event)
{
	static const char *const verbs[][2] = {
	    {"new", "New crash"}, {"fixed", "Fixed"}, {"regressed", "Came back"}};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(event, verbs[i][0]) == 0)
			return verbs[i][1];
	return "Crash";
}

static void payload_reliability(const struct known_crash *c, struct buf *out)
{
	unsigned long long replays = c->reproduction.tries, hits = c->reproduction.hits;

	if (!replays)
		return;
	if (hits)
		buf_printf(out, "; fails %llu of %llu times", hits, replays);
	else
		buf_printf(out, "; never in %llu replays", replays);
}

/* "New crash in png_fuzzer: Heap-use-after-free READ 4 in f (security-relevant); fails 3 of
 * 3 times; 0123456789abcdef" */
static void payload_crash_line(const struct webhook_message *m, write_fn *write, struct buf *out)
{
	const struct known_crash *c = m->crash;

	buf_printf(out, "%s in ", payload_verb(m->event));
	write(c->fuzzer, out);
	buf_puts(out, ": ");
	write(*c->crash_type ? c->crash_type : "crash", out);
	if (*c->top_frame) {
		buf_puts(out, " in ");
		write(c->top_frame, out);
	}
	if (c->security)
		buf_puts(out, " (security-relevant)");
	payload_reliability(c, out);
	buf_puts(out, "; ");
	write(c->signature, out);
}

static int payload_line(const struct webhook_message *m, bool is_slack, struct buf *out,
			struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(PAYLOAD_ROOM);

	if (m->crash)
		payload_crash_line(m, is_slack ? payload_as_code : payload_as_plain, &text);
	else if (is_slack)
		payload_mrkdwn(m->text ? m->text : "", false, &text);
	else
		payload_plain(m->text ? m->text : "", PAYLOAD_PART_MAX, &text);
	out->full |= text.full;
	buf_put(out, render_cut(buf_slice(&text), SLACK_TEXT_MAX));
	return buf_check(out, e);
}

/* --- the body for Slack --------------------------------------------------------- */

static int slack_add_field(json_t *fields, const char *name, const char *value, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(PAYLOAD_ROOM);
	struct slice s;
	int r;

	if (!value || !*value)
		return 0;
	buf_printf(&text, "*%s*\n", name);
	payload_as_code(value, &text);
	r = buf_check(&text, e);
	if (r < 0)
		return r;
	s = render_cut(buf_slice(&text), SLACK_FIELD_MAX);
	json_array_append_new(fields, json_pack("{s:s, s:s%}", "type", "mrkdwn", "text", s.p, s.n));
	return 0;
}

static int slack_add_fields(const struct webhook_message *m, json_t *fields, struct err *e)
{
	char date[32];
	int r = 0;

	if (m->crash) {
		r = slack_add_field(fields, "Severity", m->crash->severity, e);
		if (r == 0)
			r = slack_add_field(fields, "Issue", m->crash->issue_url, e);
	} else {
		r = slack_add_field(fields, "Target", m->target, e);
	}
	if (r == 0)
		r = slack_add_field(fields, "Commit", m->commit, e);
	if (r == 0)
		r = slack_add_field(fields, "Run", m->run, e);
	return r == 0 ? slack_add_field(fields, "Time", render_time(m->time, date), e) : r;
}

static int payload_slack(const struct webhook_message *m, json_t **ret, struct err *e)
{
	_autobuf_ struct buf marked = BUF_INIT(PAYLOAD_ROOM), text = BUF_INIT(PAYLOAD_ROOM);
	_autojson_ json_t *fields = json_array();
	int r = payload_line(m, true, &marked, e);

	if (r == 0)
		r = payload_line(m, false, &text, e);
	if (r == 0)
		r = slack_add_fields(m, fields, e);
	if (r < 0)
		return r;
	/* "text" is shown in notifications, and is markup, too. */
	*ret = json_pack("{s:s, s:[{s:s, s:{s:s, s:s}}, {s:s, s:O}]}", "text", buf_str(&marked),
			 "blocks", "type", "section", "text", "type", "mrkdwn", "text",
			 buf_str(&marked), "type", "section", "fields", fields);
	return 0;
}

/* --- the generic body ----------------------------------------------------------- */

static json_t *payload_text_json(const char *s)
{
	_autobuf_ struct buf clean = BUF_INIT(PAYLOAD_ROOM);

	if (!s || !*s)
		return json_null();
	payload_plain(s, PAYLOAD_PART_MAX, &clean);
	return clean.full ? NULL : json_string(buf_str(&clean));
}

static json_t *payload_crash_json(const struct webhook_message *m)
{
	const struct known_crash *c = m->crash;

	if (!c)
		return json_null();
	return json_pack(
	    "{s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:{s:I, s:I}, s:I, s:I, s:I, s:o}", "signature",
	    payload_text_json(c->signature), "target", payload_text_json(c->fuzzer), "crash_type",
	    payload_text_json(c->crash_type), "top_frame", payload_text_json(c->top_frame),
	    "severity", payload_text_json(c->severity), "state", ledger_state_name(c->state),
	    "security", c->security, "reproduces", "hits", (json_int_t)c->reproduction.hits,
	    "tries", (json_int_t)c->reproduction.tries, "count", (json_int_t)c->count, "first_seen",
	    (json_int_t)c->first_seen.time, "last_seen", (json_int_t)c->last_seen.time, "issue_url",
	    payload_text_json(m->issue_url));
}

static int payload_generic(const struct webhook_message *m, json_t **ret, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(PAYLOAD_ROOM);
	int r = payload_line(m, false, &text, e);

	if (r < 0)
		return r;
	*ret = json_pack("{s:s, s:s, s:I, s:s, s:o, s:o, s:o, s:o}", "event", m->event, "id", m->id,
			 "time", (json_int_t)m->time, "text", buf_str(&text), "target",
			 payload_text_json(m->crash ? m->crash->fuzzer : m->target), "run",
			 payload_text_json(m->run), "commit", payload_text_json(m->commit), "crash",
			 payload_crash_json(m));
	return *ret ? 0 : err_set(e, EINVAL, "build JSON");
}

int webhook_payload(enum webhook_format format, const struct webhook_message *m, json_t **ret,
		    struct err *e)
{
	return format == WEBHOOK_SLACK ? payload_slack(m, ret, e) : payload_generic(m, ret, e);
}

/* --- the signature -------------------------------------------------------------- */

int webhook_sign(struct slice key, struct slice body, char out[WEBHOOK_SIGNATURE], struct err *e)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;
	char *to = out;

	if (key.n > INT_MAX ||
	    !HMAC(EVP_sha256(), key.p, (int)key.n, (const unsigned char *)body.p, body.n, sum,
		  &n) ||
	    n != 32)
		return err_set(e, EINVAL, "sign a webhook's payload");
	for (const char *p = "sha256="; *p; p++)
		*to++ = *p;
	for (unsigned i = 0; i < n; i++) {
		*to++ = digits[sum[i] >> 4];
		*to++ = digits[sum[i] & 15];
	}
	*to = '\0';
	return 0;
}

/* --- one POST ------------------------------------------------------------------- */

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
static int webhook_take_secret(const char *path, char *text, size_t n, char **ret, struct err *e)
{
	while (n > 0 && strchr(" \t\r\n", text[n - 1]))
		n--;
	if (n == 0 || memchr(text, '\0', n))
		return err_set(e, EINVAL, "'%s' holds no secret", path);
	*ret = xstrndup(text, n);
	return 0;
}

static int webhook_read_secret(const char *path, char **ret, struct err *e)
{
	char text[SECRET_MAX];
	size_t n = 0;
	int r = token_read_file(path, text, sizeof(text), &n, e);

	r = r ? r : webhook_take_secret(path, text, n, ret, e);
	explicit_bzero(text, sizeof(text));
	return r;
}

static int webhook_read_secrets(struct webhook *w, struct err *e)
{
	const struct webhook_config *c = w->config;
	int r = 0;

	if (!w->url && c->url_file)
		r = webhook_read_secret(c->url_file, &w->url, e);
	else if (!w->url && c->url)
		w->url = xstrdup(c->url);
	if (r == 0 && !w->url)
		return err_set(e, EINVAL, "it has no URL");
	if (r == 0 && !w->key && c->secret_file)
		r = webhook_read_secret(c->secret_file, &w->key, e);
	return r;
}

static void webhook_set_result(struct delivery *d, enum delivery_result result, const char *why)
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
	webhook_set_result(d, busy ? DELIVERY_LATER : DELIVERY_REFUSED, why);
	d->whole_host = busy;
	if (busy && r->headers.has_retry_after)
		d->wait_s = r->headers.retry_after_s;
}

static void webhook_send_body(struct webhook *w, struct delivery *d, const char *body)
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
		webhook_set_result(d, r == -EINVAL ? DELIVERY_REFUSED : DELIVERY_LATER, e.msg);
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
		webhook_set_result(d, DELIVERY_REFUSED, "the entry has no payload");
		return;
	}
	if (webhook_read_secrets(w, &e) < 0) {
		webhook_set_result(d, DELIVERY_LATER, e.msg);
		d->unasked = true;
		return;
	}
	if (json_print(payload, 0, &body, &e) < 0)
		webhook_set_result(d, DELIVERY_LATER, e.msg);
	else
		webhook_send_body(w, d, body);
}
