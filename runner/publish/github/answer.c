/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/github/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

/* The meaning of GitHub's answers.  From its documentation, "Rate limits for the REST API" and
 * "Best practices": obey retry-after.  Else, if no requests remain, wait until
 * x-ratelimit-reset.  Else, for a secondary limit, wait at least a minute. */

void answer_done(struct answer *a)
{
	json_decref(a->body);
	*a = ANSWER_INIT;
}

/* --- the reason ------------------------------------------------------------------ */

static const char *github_answer_text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

/* An element of "errors": {"resource", "field", "code", "message"}, or a text. */
static void add_error(const json_t *one, char *out, size_t n)
{
	size_t at = strlen(out);
	const char *message =
	    json_is_string(one) ? json_string_value(one) : github_answer_text_of(one, "message");

	if (at + 4 >= n)
		return;
	if (*message)
		(void)snprintf(out + at, n - at, "; %s", message);
	else
		(void)snprintf(out + at, n - at, "; %s %s", github_answer_text_of(one, "field"),
			       github_answer_text_of(one, "code"));
}

/* Secrets are hidden before the text is cut, because a cut secret is not recognised. */
static void github_answer_say(const struct http_reply *reply, const json_t *body,
			      const struct token *t, struct answer *out)
{
	const json_t *errors = json_object_get(body, "errors");
	char raw[2048];

	const char *words = github_answer_text_of(body, "message");

	if (reply->elsewhere) /* the answer's text has no more information */
		words = "it points to another host, and was not followed";
	(void)snprintf(raw, sizeof(raw), "%u: %s", reply->status,
		       *words ? words : "no reason given");
	for (size_t i = 0; i < json_array_size(errors) && i < 8; i++)
		add_error(json_array_get(errors, i), raw, sizeof(raw));
	token_hide(t, raw);
	text_clean(raw, out->why, sizeof(out->why));
}

/* --- the meaning ----------------------------------------------------------------- */

static void later(struct answer *a, uint64_t wait_s, bool whole_host)
{
	a->kind = ANSWER_LATER;
	a->wait_s = wait_s < WISH_MAX_S ? wait_s : WISH_MAX_S;
	a->whole_host = whole_host;
}

/* The wait until x-ratelimit-reset, and one second more because both times are truncated to
 * seconds. */
static uint64_t until_reset(const struct http_headers *h)
{
	if (h->date_s == 0 || h->reset_s <= h->date_s)
		return SERVER_WAIT_S;
	return h->reset_s - h->date_s + 1;
}

static bool says_limit(const struct answer *a)
{
	return strcasestr(a->why, "rate limit") || strcasestr(a->why, "abuse");
}

/* 403 and 429: a limit, or no permission. */
static void judge_limit(const struct http_headers *h, struct answer *a)
{
	if (h->has_retry_after)
		later(a, h->retry_after_s ? h->retry_after_s : 1, true);
	else if (h->has_remaining && h->remaining == 0 && h->reset_s > 0)
		later(a, until_reset(h), true);
	else if (a->status == 429 || says_limit(a))
		later(a, SERVER_WAIT_S, true);
	else
		a->kind = ANSWER_REFUSED;
}

static void judge_server(const struct http_headers *h, struct answer *a)
{
	bool all = a->status >= 502 && a->status <= 504;

	a->unsure = true;
	later(a, SERVER_WAIT_S, all);
	if (h->has_retry_after && h->retry_after_s > SERVER_WAIT_S)
		later(a, h->retry_after_s, all);
}

static void judge_status(const struct http_headers *h, struct answer *a)
{
	switch (a->status) {
	case 401:
		later(a, TOKEN_WAIT_S, true);
		a->kind = ANSWER_TOKEN;
		break;
	case 403:
	case 429:
		judge_limit(h, a);
		break;
	case 404:
	case 410:
		a->kind = ANSWER_MISSING;
		break;
	case 422:
		a->kind = ANSWER_INVALID;
		break;
	case 408:
	case 409:
	case 423:
	case 425:
		later(a, SERVER_WAIT_S, false);
		break;
	default:
		if (a->status >= 500)
			judge_server(h, a);
		else
			a->kind = ANSWER_REFUSED;
	}
}

/* A success with an unreadable body: the request was carried out. */
static void judge_success(struct answer *a)
{
	if (a->body) {
		a->kind = ANSWER_OK;
		return;
	}
	later(a, SERVER_WAIT_S, false);
	a->unsure = true;
	(void)snprintf(a->why, sizeof(a->why), "%u: the answer is not JSON", a->status);
}

void answer_judge(const struct http_reply *reply, const struct token *t, struct answer *out)
{
	struct err e;

	*out = ANSWER_INIT;
	out->status = reply->status;
	if (reply->body.n == 0 || json_parse(buf_slice(&reply->body), &out->body, &e) < 0)
		out->body = NULL;
	memcpy(out->next, reply->headers.next, sizeof(out->next));
	token_hide(t, out->next); /* the URL is stored on disk */
	if (reply->status >= 200 && reply->status < 300) {
		judge_success(out);
		return;
	}
	github_answer_say(reply, out->body, t, out);
	judge_status(&reply->headers, out);
}

void answer_failed(int code, const char *why, struct answer *out)
{
	*out = ANSWER_INIT;
	text_clean(why, out->why, sizeof(out->why));
	if (code == -EINVAL)
		return; /* refused: a user must correct the URL */
	out->unsure = http_may_be_done(code);
	later(out, SERVER_WAIT_S, true);
	if (code == -EMSGSIZE)
		out->kind = ANSWER_TOO_LARGE;
}
