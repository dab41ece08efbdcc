/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/github/github.h"

#include "base/memory.h"
#include "runner/publish/github/internal.h"
#include "runner/publish/render/render.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int github_new(const struct github_config *c, const struct github_options *o, struct github **ret,
	       struct err *e)
{
	const struct http_limits limits = o && o->limits ? *o->limits : HTTP_LIMITS;
	_autofree_ struct github *g = NULL;
	int r = http_url_ok(c->api, e);

	if (r < 0)
		return err_wrap(e, "github.api");
	g = xcalloc(1, sizeof(*g));
	if (o)
		g->o = *o;
	g->config = c;
	r = http_new(&limits, &g->http, e);
	if (r < 0)
		return r;
	*ret = take_ptr(&g);
	return 0;
}

void github_free(struct github *g)
{
	if (!g)
		return;
	index_free(g->index);
	token_free(g->token);
	http_free(g->http);
	free(g);
}

/* --- a delivery's result -------------------------------------------------------- */

static void work_set_result(struct work *w, enum delivery_result r, const char *why)
{
	w->d->result = r;
	text_clean(why, w->d->why, sizeof(w->d->why));
}

bool work_refuse(struct work *w, const char *why)
{
	work_set_result(w, DELIVERY_REFUSED, why);
	return false;
}

bool work_later(struct work *w, uint64_t wait_s, const char *why)
{
	work_set_result(w, DELIVERY_LATER, why);
	w->d->wait_s = wait_s;
	return false;
}

bool work_error(struct work *w, const struct err *e)
{
	return work_later(w, 0, e->msg);
}

static void work_end(struct work *w)
{
	w->d->result = DELIVERY_DONE;
	w->d->why[0] = '\0';
	if (w->issue.html[0])
		(void)snprintf(w->d->url, sizeof(w->d->url), "%s", w->issue.html);
}

bool work_ok(struct work *w, const struct answer *a, const char *what)
{
	char why[256];

	if (a->kind == ANSWER_OK)
		return true;
	(void)snprintf(why, sizeof(why), "%s: %s%s", what, a->why,
		       a->status == 404 ? " (not there, or the token may not see it)" : "");
	if (a->kind == ANSWER_REFUSED || a->kind == ANSWER_MISSING || a->kind == ANSWER_INVALID)
		return work_refuse(w, why);
	w->d->whole_host = a->whole_host;
	w->d->unasked = a->unasked;
	if (a->kind == ANSWER_TOKEN && !a->unasked)
		w->d->refused_token = token_number(w->g->token);
	return work_later(w, a->wait_s, why);
}

/* --- progress ------------------------------------------------------------------- */

uint64_t work_get(const struct work *w, const char *name)
{
	json_int_t v = json_integer_value(json_object_get(w->d->progress, name));

	return v > 0 ? (uint64_t)v : 0;
}

static bool work_save(struct work *w)
{
	struct err e;

	if (w->d->save(w->d->arg, &e) == 0)
		return true;
	return work_error(w, &e);
}

bool work_set(struct work *w, const char *name, uint64_t v)
{
	json_object_set_new(w->d->progress, name, json_integer((json_int_t)v));
	return work_save(w);
}

bool work_unset(struct work *w, const char *name)
{
	return json_object_del(w->d->progress, name) < 0 || work_save(w);
}

bool work_settled(struct work *w, const char *name)
{
	uint64_t at = work_get(w, name), now = github_now(w->g);

	if (at == 0)
		return true;
	if (now < at && !work_set(w, name, now)) /* the clock was set back: restart the wait */
		return false;
	at = now < at ? now : at;
	if (now - at >= REPLICATION_S)
		return true;
	return work_later(w, REPLICATION_S - (now - at),
			  "waiting a minute to see whether the last request was carried out");
}

/* --- the event ------------------------------------------------------------------ */

static enum event_kind work_kind(const char *event)
{
	static const char *const names[] = {[EVENT_NEW] = "new",
					    [EVENT_AGAIN] = "again",
					    [EVENT_REGRESSED] = "regressed",
					    [EVENT_FIXED] = "fixed",
					    [EVENT_FOUND] = "found",
					    [EVENT_PARTLY] = "partly",
					    [EVENT_SMALLER] = "smaller",
					    [EVENT_BISECTED] = "bisected"};

	for (int i = 0; i < EVENT_OTHER; i++)
		if (strcmp(event, names[i]) == 0)
			return (enum event_kind)i;
	return EVENT_OTHER;
}

static bool work_make_key(struct work *w)
{
	const char *signature = json_get_text(w->d->event, "signature");

	if (!text_id_ok(w->d->id))
		return work_refuse(w, "not a valid delivery id");
	if (*signature && !text_id_ok(signature))
		return work_refuse(w, "the signature is not valid in a marker");
	if (*signature)
		(void)snprintf(w->key, sizeof(w->key), "signature: %s", signature);
	else
		(void)snprintf(w->key, sizeof(w->key), "event: %s", w->d->id);
	return true;
}

static bool work_init(struct work *w, struct github *g, struct delivery *d)
{
	*w = (struct work){.g = g, .d = d};
	w->event = json_get_text(w->d->event, "event");
	w->repo = json_get_text(w->d->event, "repository");
	w->action = json_get_text(w->d->event, "action");
	w->kind = work_kind(w->event);
	if (!text_repository_ok(w->repo))
		return work_refuse(w, "the repository is not \"owner/name\"");
	if (!text_id_ok(w->event))
		return work_refuse(w, "not an event");
	return work_make_key(w);
}

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

static bool issue_open(struct work *w)
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

/* Replaces the issue's reproducer by the event's, if the issue's is still marked. */
static bool issue_edit(struct work *w)
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

static bool issue_set_state(struct work *w, bool open)
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
static bool comment_once(struct work *w)
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

/* --- the action for each event -------------------------------------------------- */

static void work_end_ignored(struct work *w)
{
	w->d->ignored = true;
	work_end(w);
}

/* The user deleted the issue: it is not filed again. */
static void work_end_deleted(struct work *w)
{
	w->d->deleted = true;
	work_end(w);
}

static bool work_action_is(const struct work *w, const char *action)
{
	return strcmp(w->action, action) == 0;
}

/* False: the delivery has ended, or must be tried again. */
static bool github_is_wanted(struct work *w)
{
	if (!issue_find(w))
		return false;
	if (w->issue.ignore)
		work_end_ignored(w);
	else if (w->deleted)
		work_end_deleted(w);
	else
		return true;
	return false;
}

static void notify_new(struct work *w)
{
	if (github_is_wanted(w) && (w->issue.number != 0 || issue_open(w)))
		work_end(w);
}

/* Handles a crash that came back, whether we or a user closed the issue.  "again" has no effect
 * on an open issue.  `acting` records a change that an earlier attempt may not have completed. */
static bool notify_again(struct work *w)
{
	uint64_t acting = work_get(w, "acting");

	if (w->kind == EVENT_AGAIN && w->issue.open)
		return true;
	if (!comment_once(w))
		return false;
	/* A user closed the issue after we reopened it: respect that. */
	if (!work_action_is(w, "act") || w->issue.open || w->issue.set_aside ||
	    (acting != 0 && w->issue.closed_s > acting))
		return true;
	return issue_set_state(w, true);
}

static bool notify_fixed(struct work *w)
{
	if (w->issue.wrong)
		return true;
	if (!comment_once(w))
		return false;
	return !work_action_is(w, "act") || !w->issue.open || issue_set_state(w, false);
}

static bool notify_existing(struct work *w)
{
	if (w->kind == EVENT_SMALLER)
		return issue_edit(w);
	if (w->kind == EVENT_BISECTED)
		return comment_once(w);
	return w->kind == EVENT_FIXED || w->kind == EVENT_PARTLY ? notify_fixed(w)
								 : notify_again(w);
}

/* Files a missing issue.  Events about a fix, a smaller input or a commit, and events without a
 * title, file none. */
static bool notify_missing(struct work *w)
{
	const char *title = json_string_value(json_object_get(w->d->event, "title"));

	if (w->kind == EVENT_FIXED || w->kind == EVENT_PARTLY || w->kind == EVENT_SMALLER ||
	    w->kind == EVENT_BISECTED || !title || !*title)
		return true;
	return issue_open(w);
}

/* A user's decision (a label, a deleted issue) is about the targets that were notified before. */
static void notify_found(struct work *w)
{
	if (!issue_find(w))
		return;
	if (w->issue.number == 0) {
		if (notify_missing(w))
			work_end(w);
	} else if (w->issue.ignore) {
		if (comment_once(w))
			work_end_ignored(w);
	} else if (notify_again(w)) {
		work_end(w);
	}
}

static void notify_change(struct work *w)
{
	if (github_is_wanted(w) && (w->issue.number != 0 ? notify_existing(w) : notify_missing(w)))
		work_end(w);
}

static void github_deliver_one(struct github *g, struct delivery *d)
{
	struct work w;

	d->wait_s = d->refused_token = 0;
	d->whole_host = d->unasked = d->ignored = d->deleted = false;
	d->why[0] = d->url[0] = d->warning[0] = '\0';
	if (!work_init(&w, g, d))
		return;
	if (w.kind == EVENT_NEW || w.kind == EVENT_OTHER)
		notify_new(&w);
	else if (work_action_is(&w, "none"))
		work_end(&w);
	else if (w.kind == EVENT_FOUND)
		notify_found(&w);
	else
		notify_change(&w);
}

void github_deliver(struct github *g, struct delivery *d)
{
	github_deliver_one(g, d);
	if (g->blind)
		(void)snprintf(d->warning, sizeof(d->warning),
			       "the server names neither this token's account (GET /user) nor the "
			       "roles of authors (author_association): any user's marker counts");
}
