/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/github/internal.h"

#include <stdio.h>

/* Posts a comment once.  A hidden marker in it identifies the delivery. */

enum { PAGES_MAX = 50, SLACK_S = 86400, COMMENT_MAX = 1 << 20 };

struct found {
	bool this, other; /* of this delivery; "again" of another one since the issue was closed */
};

static const char *github_comment_text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static void github_comment_look_at(const struct work *w, const json_t *comment, const char *key,
				   struct found *out)
{
	struct slice rest = slice_of(github_comment_text_of(comment, "body")), one;

	if (!auth_trusts(w->g, comment))
		return;
	while (text_next_marker(&rest, &one)) {
		if (slice_eq(one, slice_of(key)))
			out->this = true;
		else if (w->kind == EVENT_AGAIN && scan_lit(&one, SLICE("delivery: again ")) &&
			 text_iso_read(github_comment_text_of(comment, "created_at")) >=
			     w->issue.closed_s)
			out->other = true;
	}
}

/* The earliest time of this delivery's comment.  The delivery is named after its event, so even
 * a queue that was lost and rebuilt cannot have sent it before the event. */
static uint64_t since(const struct work *w)
{
	json_int_t at = json_integer_value(json_object_get(w->d->event, "time"));
	uint64_t from = w->d->created;

	if (at > 0 && (uint64_t)at < from)
		from = (uint64_t)at;
	if (w->kind == EVENT_AGAIN && w->issue.closed_s != 0 && w->issue.closed_s < from)
		from = w->issue.closed_s;
	return from > SLACK_S ? from - SLACK_S : 0;
}

static bool github_comment_look(struct work *w, const char *key, struct found *out)
{
	char url[HTTP_URL_MAX], iso[ISO_MAX];
	int n;

	text_iso(since(w), iso);
	n = snprintf(url, sizeof(url), "%s/comments?per_page=100&since=%s", w->issue.url, iso);
	if (n < 0 || (size_t)n >= sizeof(url))
		return work_refuse(w, "the issue's URL is too long");
	for (int page = 0; url[0] && page < PAGES_MAX; page++) {
		_autoanswer_ struct answer a = ANSWER_INIT;

		github_call(w->g, "GET", url, NULL, &a);
		if (!work_ok(w, &a, "read the comments"))
			return false;
		for (size_t i = 0; i < json_array_size(a.body); i++)
			github_comment_look_at(w, json_array_get(a.body, i), key, out);
		memcpy(url, a.next, sizeof(url));
	}
	if (url[0]) /* a missing comment is better than a duplicate */
		out->this = true;
	return true;
}

static bool post(struct work *w, const char *key)
{
	_autoanswer_ struct answer a = ANSWER_INIT;
	_autobuf_ struct buf text = BUF_INIT(COMMENT_MAX);
	_autojson_ json_t *body = NULL;
	char url[HTTP_URL_MAX];
	struct err e;

	if (snprintf(url, sizeof(url), "%s/comments", w->issue.url) >= (int)sizeof(url))
		return work_refuse(w, "the issue's URL is too long");
	if (text_body(github_comment_text_of(w->d->event, "comment"), NULL, key, &text, &e) < 0)
		return work_error(w, &e);
	body = json_pack("{s:s}", "body", buf_str(&text));
	if (!body)
		return work_refuse(w, "the comment is not UTF-8");
	if (!work_set(w, "commenting", github_now(w->g)))
		return false;
	github_call(w->g, "POST", url, body, &a);
	if (a.kind == ANSWER_OK)
		return work_set(w, "commented", 1);
	if (!a.unsure && !work_unset(w, "commenting"))
		return false;
	(void)work_ok(w, &a, "comment on the issue");
	if (a.unsure && w->d->wait_s < REPLICATION_S)
		w->d->wait_s = REPLICATION_S;
	return false;
}

bool comment_once(struct work *w)
{
	_autoanswer_ struct answer a = ANSWER_INIT;
	struct found f = {false, false};
	char key[KEY_MAX];

	if (work_get(w, "commented") != 0)
		return true;
	if (*github_comment_text_of(w->d->event, "comment") == '\0')
		return true;
	(void)snprintf(key, sizeof(key), "delivery: %.20s %s", w->event, w->d->id);
	if (!work_settled(w, "commenting"))
		return false;
	if (!auth_login(w->g, &a))
		return work_ok(w, &a, "get the token's account");
	if (!github_comment_look(w, key, &f))
		return false;
	if (f.this)
		return work_set(w, "commented", 1);
	return f.other || post(w, key);
}
