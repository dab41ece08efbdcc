/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, edits, closes and comments on an issue. */
#include "runner/publish/github/internal.h"
#include "runner/publish/render/render.h"

#include <inttypes.h>
#include <stdio.h>

/* --- the issue ------------------------------------------------------------------ */

enum { TEXT_MAX = 1 << 20, BODY_MAX = 65536 };

static int issue_labels(const struct work *w, json_t *into, struct err *e)
{
	const json_t *from = json_object_get(w->d->event, "labels");
	json_t *labels = json_array();

	for (size_t i = 0; i < json_array_size(from); i++) {
		json_t *one = json_array_get(from, i);

		if (json_is_string(one))
			json_array_append(labels, one);
	}
	if (json_array_size(labels) == json_array_size(from) &&
	    json_object_set_new(into, "labels", labels) == 0)
		return 0;
	return err_set(e, EINVAL, "a label is not a string");
}

static int issue_text(const struct work *w, json_t *into, struct err *e)
{
	_autobuf_ struct buf title = BUF_INIT(TEXT_MAX), body = BUF_INIT(TEXT_MAX);
	const char *reproducer = json_string_value(json_object_get(w->d->progress, "reproducer"));
	int r = text_body(json_get_text(w->d->event, "body"), reproducer, w->key, &body, e);

	if (r < 0)
		return r;
	text_title(json_get_text(w->d->event, "title"), &title);
	if (title.n == 0)
		return err_set(e, EINVAL, "no title");
	json_object_set_new(into, "title", json_string(buf_str(&title)));
	json_object_set_new(into, "body", json_string(buf_str(&body)));
	return 0;
}

/* The issue exists: remember its number for this delivery and in the index. */
static bool issue_opened(struct work *w, const struct answer *a)
{
	json_int_t number = json_integer_value(json_object_get(a->body, "number"));
	const char *html = json_string_value(json_object_get(a->body, "html_url"));

	if (number <= 0) /* a success without a number: search for the issue */
		return work_later(w, REPLICATION_S, "open an issue: the answer is not an issue");
	w->issue.number = (uint64_t)number;
	if (html && strlen(html) < sizeof(w->issue.html))
		text_clean(html, w->issue.html, sizeof(w->issue.html));
	token_hide(w->g->token, w->issue.html);
	/* Errors are ignored: the issue exists, and its marker identifies it. */
	issue_remember(w);
	(void)work_set(w, "issue", w->issue.number);
	return true;
}

bool issue_open(struct work *w)
{
	_autoanswer_ struct answer a = ANSWER_INIT;
	_autojson_ json_t *body = json_object();
	char path[REPO_MAX + 16];
	struct err e;
	int r;

	if (!upload_reproducer(w))
		return false;
	r = issue_text(w, body, &e);
	r = r ? r : issue_labels(w, body, &e);
	if (r < 0)
		return work_refuse(w, e.msg);
	(void)snprintf(path, sizeof(path), "/repos/%s/issues", w->repo);
	if (!work_set(w, "posting", github_now(w->g)))
		return false;
	github_call(w->g, "POST", path, body, &a);
	if (a.kind == ANSWER_OK)
		return issue_opened(w, &a);
	/* The request was certainly not carried out, so the next attempt need not search. */
	if (!a.unsure && !work_unset(w, "posting"))
		return false;
	(void)work_ok(w, &a, "open an issue");
	if (a.unsure && w->d->wait_s < REPLICATION_S)
		w->d->wait_s = REPLICATION_S;
	return false;
}

/* `was`, with the reproducer from `now`; 0 bytes: no change is needed. */
static int issue_edited(const char *was, const char *now, struct buf *out, struct err *e)
{
	struct slice old, new;

	if (!text_input(was, &old) || !text_input(now, &new) || slice_eq(old, new))
		return 0;
	buf_put(out, (struct slice){was, (size_t)(old.p - was)});
	buf_put(out, new);
	buf_puts(out, old.p + old.n);
	return buf_check(out, e);
}

bool issue_edit(struct work *w)
{
	_autoanswer_ struct answer was = ANSWER_INIT, a = ANSWER_INIT;
	_autobuf_ struct buf text = BUF_INIT(TEXT_MAX);
	_autobuf_ struct buf now = BUF_INIT(TEXT_MAX);
	_autojson_ json_t *body = NULL;
	const char *reproducer;
	struct err e;
	int r;

	if (work_get(w, "edited") != 0)
		return true;
	if (!upload_reproducer(w))
		return false;
	reproducer = json_string_value(json_object_get(w->d->progress, "reproducer"));
	if (reproducer && strncmp(reproducer, UPLOAD_NOT, strlen(UPLOAD_NOT)) == 0 &&
	    strstr(json_get_text(w->d->event, "body"), RENDER_REPRODUCER))
		return true; /* the issue keeps its reproducer */
	github_call(w->g, "GET", w->issue.url, NULL, &was);
	if (!work_ok(w, &was, "read the issue"))
		return false;
	r = text_body(json_get_text(w->d->event, "body"), reproducer, w->key, &now, &e);
	r = r ? r : issue_edited(json_get_text(was.body, "body"), buf_str(&now), &text, &e);
	if (r < 0)
		return work_error(w, &e);
	if (text.n == 0 || text.n > BODY_MAX)
		return true;
	body = json_pack("{s:s}", "body", buf_str(&text));
	github_call(w->g, "PATCH", w->issue.url, body, &a);
	return work_ok(w, &a, "put the smaller reproducer into the issue") &&
	       work_set(w, "edited", 1);
}

bool issue_set_state(struct work *w, bool open)
{
	_autoanswer_ struct answer a = ANSWER_INIT;
	_autojson_ json_t *body = json_pack("{s:s, s:s}", "state", open ? "open" : "closed",
					    "state_reason", open ? "reopened" : "completed");

	if (!work_set(w, "acting", github_server_now(w->g)))
		return false;
	github_call(w->g, "PATCH", w->issue.url, body, &a);
	return work_ok(w, &a, open ? "reopen the issue" : "close the issue");
}

/* --- a comment ------------------------------------------------------------------ */

enum { PAGES_MAX = 50, SLACK_S = 86400, COMMENT_MAX = 1 << 20 };

struct found {
	bool this, other; /* of this delivery; "again" of another one since the issue was closed */
};

static void comment_check(const struct work *w, const json_t *comment, const char *key,
			  struct found *out)
{
	struct slice rest = slice_of(json_get_text(comment, "body")), one;

	if (!auth_trusts(w->g, comment))
		return;
	while (text_next_marker(&rest, &one)) {
		if (slice_eq(one, slice_of(key)))
			out->this = true;
		else if (w->kind == EVENT_AGAIN && scan_lit(&one, SLICE("delivery: again ")) &&
			 text_iso_read(json_get_text(comment, "created_at")) >= w->issue.closed_s)
			out->other = true;
	}
}

/* The earliest time of this delivery's comment.  The delivery is named after its event, so even
 * a queue that was lost and rebuilt cannot have sent it before the event. */
static uint64_t comment_since(const struct work *w)
{
	json_int_t at = json_integer_value(json_object_get(w->d->event, "time"));
	uint64_t from = w->d->created;

	if (at > 0 && (uint64_t)at < from)
		from = (uint64_t)at;
	if (w->kind == EVENT_AGAIN && w->issue.closed_s != 0 && w->issue.closed_s < from)
		from = w->issue.closed_s;
	return from > SLACK_S ? from - SLACK_S : 0;
}

static bool comment_search(struct work *w, const char *key, struct found *out)
{
	char url[HTTP_URL_MAX], iso[ISO_MAX];
	int n;

	text_iso(comment_since(w), iso);
	n = snprintf(url, sizeof(url), "%s/comments?per_page=100&since=%s", w->issue.url, iso);
	if (n < 0 || (size_t)n >= sizeof(url))
		return work_refuse(w, "the issue's URL is too long");
	for (int page = 0; url[0] && page < PAGES_MAX; page++) {
		_autoanswer_ struct answer a = ANSWER_INIT;

		github_call(w->g, "GET", url, NULL, &a);
		if (!work_ok(w, &a, "read the comments"))
			return false;
		for (size_t i = 0; i < json_array_size(a.body); i++)
			comment_check(w, json_array_get(a.body, i), key, out);
		memcpy(url, a.next, sizeof(url));
	}
	if (url[0]) /* a missing comment is better than a duplicate */
		out->this = true;
	return true;
}

static bool comment_post(struct work *w, const char *key)
{
	_autoanswer_ struct answer a = ANSWER_INIT;
	_autobuf_ struct buf text = BUF_INIT(COMMENT_MAX);
	_autojson_ json_t *body = NULL;
	char url[HTTP_URL_MAX];
	struct err e;

	if (snprintf(url, sizeof(url), "%s/comments", w->issue.url) >= (int)sizeof(url))
		return work_refuse(w, "the issue's URL is too long");
	if (text_body(json_get_text(w->d->event, "comment"), NULL, key, &text, &e) < 0)
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

/* A hidden marker in the comment identifies the delivery. */
bool comment_once(struct work *w)
{
	_autoanswer_ struct answer a = ANSWER_INIT;
	struct found f = {false, false};
	char key[KEY_MAX];

	if (work_get(w, "commented") != 0)
		return true;
	if (*json_get_text(w->d->event, "comment") == '\0')
		return true;
	(void)snprintf(key, sizeof(key), "delivery: %.20s %s", w->event, w->d->id);
	if (!work_settled(w, "commenting"))
		return false;
	if (!auth_login(w->g, &a))
		return work_ok(w, &a, "get the token's account");
	if (!comment_search(w, key, &f))
		return false;
	if (f.this)
		return work_set(w, "commented", 1);
	return f.other || comment_post(w, key);
}
