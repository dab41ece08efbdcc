/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/github/internal.h"

#include <stdio.h>

/* --- a delivery's result ----------------------------------------------------------- */

static void result(struct work *w, enum delivery_result r, const char *why)
{
	w->d->result = r;
	text_clean(why, w->d->why, sizeof(w->d->why));
}

bool work_refuse(struct work *w, const char *why)
{
	result(w, DELIVERY_REFUSED, why);
	return false;
}

bool work_later(struct work *w, uint64_t wait_s, const char *why)
{
	result(w, DELIVERY_LATER, why);
	w->d->wait_s = wait_s;
	return false;
}

bool work_error(struct work *w, const struct err *e)
{
	return work_later(w, 0, e->msg);
}

void work_end(struct work *w)
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

/* --- progress -------------------------------------------------------------------- */

uint64_t work_get(const struct work *w, const char *name)
{
	json_int_t v = json_integer_value(json_object_get(w->d->progress, name));

	return v > 0 ? (uint64_t)v : 0;
}

static bool github_work_save(struct work *w)
{
	struct err e;

	if (w->d->save(w->d->arg, &e) == 0)
		return true;
	return work_error(w, &e);
}

bool work_set(struct work *w, const char *name, uint64_t v)
{
	json_object_set_new(w->d->progress, name, json_integer((json_int_t)v));
	return github_work_save(w);
}

bool work_unset(struct work *w, const char *name)
{
	return json_object_del(w->d->progress, name) < 0 || github_work_save(w);
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

/* --- the event ----------------------------------------------------------------------- */

static const char *github_work_text_of(const struct work *w, const char *key)
{
	const char *s = json_string_value(json_object_get(w->d->event, key));

	return s ? s : "";
}

static enum event_kind github_work_kind_of(const char *event)
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

static bool github_work_make_key(struct work *w)
{
	const char *signature = github_work_text_of(w, "signature");

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

bool work_init(struct work *w, struct github *g, struct delivery *d)
{
	*w = (struct work){.g = g, .d = d};
	w->event = github_work_text_of(w, "event");
	w->repo = github_work_text_of(w, "repository");
	w->action = github_work_text_of(w, "action");
	w->kind = github_work_kind_of(w->event);
	if (!text_repository_ok(w->repo))
		return work_refuse(w, "the repository is not \"owner/name\"");
	if (!text_id_ok(w->event))
		return work_refuse(w, "not an event");
	return github_work_make_key(w);
}
