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

/* --- the action for each event ------------------------------------------------------- */

static void end_ignored(struct work *w)
{
	w->d->ignored = true;
	work_end(w);
}

/* The user deleted the issue: it is not filed again. */
static void end_deleted(struct work *w)
{
	w->d->deleted = true;
	work_end(w);
}

static bool does(const struct work *w, const char *action)
{
	return strcmp(w->action, action) == 0;
}

/* False: the delivery has ended, or must be tried again. */
static bool github_is_wanted(struct work *w)
{
	if (!issue_find(w))
		return false;
	if (w->issue.ignore)
		end_ignored(w);
	else if (w->deleted)
		end_deleted(w);
	else
		return true;
	return false;
}

static void tell_new(struct work *w)
{
	if (github_is_wanted(w) && (w->issue.number != 0 || issue_open(w)))
		work_end(w);
}

/* Handles a crash that came back, whether we or a user closed the issue.  "again" has no effect
 * on an open issue.  `acting` records a change that an earlier attempt may not have completed. */
static bool tell_again(struct work *w)
{
	uint64_t acting = work_get(w, "acting");

	if (w->kind == EVENT_AGAIN && w->issue.open)
		return true;
	if (!comment_once(w))
		return false;
	/* A user closed the issue after we reopened it: respect that. */
	if (!does(w, "act") || w->issue.open || w->issue.set_aside ||
	    (acting != 0 && w->issue.closed_s > acting))
		return true;
	return issue_set_state(w, true);
}

static bool tell_fixed(struct work *w)
{
	if (w->issue.wrong)
		return true;
	if (!comment_once(w))
		return false;
	return !does(w, "act") || !w->issue.open || issue_set_state(w, false);
}

static bool tell_there(struct work *w)
{
	if (w->kind == EVENT_SMALLER)
		return issue_edit(w);
	return w->kind == EVENT_FIXED || w->kind == EVENT_PARTLY ? tell_fixed(w) : tell_again(w);
}

/* Files a missing issue.  Events about a fix or a smaller input, and events without a title,
 * file none. */
static bool tell_missing(struct work *w)
{
	const char *title = json_string_value(json_object_get(w->d->event, "title"));

	if (w->kind == EVENT_FIXED || w->kind == EVENT_PARTLY || w->kind == EVENT_SMALLER ||
	    !title || !*title)
		return true;
	return issue_open(w);
}

/* A user's decision (a label, a deleted issue) is about the targets that were notified before. */
static void tell_found(struct work *w)
{
	if (!issue_find(w))
		return;
	if (w->issue.number == 0) {
		if (tell_missing(w))
			work_end(w);
	} else if (w->issue.ignore) {
		if (comment_once(w))
			end_ignored(w);
	} else if (tell_again(w)) {
		work_end(w);
	}
}

static void tell_more(struct work *w)
{
	if (github_is_wanted(w) && (w->issue.number != 0 ? tell_there(w) : tell_missing(w)))
		work_end(w);
}

static void deliver(struct github *g, struct delivery *d)
{
	struct work w;

	d->wait_s = d->refused_token = 0;
	d->whole_host = d->unasked = d->ignored = d->deleted = false;
	d->why[0] = d->url[0] = d->warning[0] = '\0';
	if (!work_init(&w, g, d))
		return;
	if (w.kind == EVENT_NEW || w.kind == EVENT_OTHER)
		tell_new(&w);
	else if (does(&w, "none"))
		work_end(&w);
	else if (w.kind == EVENT_FOUND)
		tell_found(&w);
	else
		tell_more(&w);
}

void github_deliver(struct github *g, struct delivery *d)
{
	deliver(g, d);
	if (g->blind)
		(void)snprintf(d->warning, sizeof(d->warning),
			       "the server names neither this token's account (GET /user) nor the "
			       "roles of authors (author_association): any user's marker counts");
}
