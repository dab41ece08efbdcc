/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/github/github.h"

#include "base/memory.h"
#include "runner/publish/github/internal.h"

#include <stdio.h>

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
	static const char *const names[] = {
	    [EVENT_NEW] = "new",	[EVENT_AGAIN] = "again", [EVENT_REGRESSED] = "regressed",
	    [EVENT_FIXED] = "fixed",	[EVENT_FOUND] = "found", [EVENT_PARTLY] = "partly",
	    [EVENT_SMALLER] = "smaller"};

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
	return w->kind == EVENT_FIXED || w->kind == EVENT_PARTLY ? notify_fixed(w)
								 : notify_again(w);
}

/* Files a missing issue.  Events about a fix or a smaller input, and events without a title,
 * file none. */
static bool notify_missing(struct work *w)
{
	const char *title = json_string_value(json_object_get(w->d->event, "title"));

	if (w->kind == EVENT_FIXED || w->kind == EVENT_PARTLY || w->kind == EVENT_SMALLER ||
	    !title || !*title)
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
