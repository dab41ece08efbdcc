/* SPDX-License-Identifier: Apache-2.0 */
/* One crash, one destination: is there something to tell? */
#include "base/cleanup.h"
#include "runner/publish/publish_internal.h"
#include "runner/publish/webhook.h"

#include <stdio.h>
#include <string.h>

#define U(n) ((unsigned long long)(n))

static const char *const names[] = {
    [PUBLISH_NEW] = "new",
    [PUBLISH_AGAIN] = "again",
    [PUBLISH_FIXED] = "fixed",
    [PUBLISH_REGRESSED] = "regressed",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == PUBLISH_WHAT_, "name every event");

const char *publish_what_name(enum publish_what w)
{
	return w < PUBLISH_WHAT_ ? names[w] : "";
}

void publish_hook_place(const struct webhook_config *h, char out[OUTBOX_PLACE])
{
	snprintf(out, OUTBOX_PLACE, "hook-%.64s", h->name);
}

bool publish_is_told(const struct publish *p, const char *place)
{
	char one[OUTBOX_PLACE];

	if (strcmp(place, PUBLISH_GITHUB) == 0)
		return publish_has_github(p);
	for (size_t i = 0; i < p->n_hooks; i++) {
		publish_hook_place(&p->hooks[i], one);
		if (strcmp(place, one) == 0)
			return true;
	}
	return false;
}

void publish_case_init(const struct publish *p, const struct known_crash *c,
		       const struct webhook_config *hook, struct publish_case *ret)
{
	*ret = (struct publish_case){.p = p, .crash = c, .hook = hook};
	if (hook)
		publish_hook_place(hook, ret->place);
	else
		snprintf(ret->place, sizeof(ret->place), PUBLISH_GITHUB);
	outbox_name(slice_of(c->signature), ret->name);
	snprintf(ret->chain, sizeof(ret->chain), "%s-%s", ret->place, ret->name);
}

int publish_case_load(struct publish_case *k, struct outbox *o, struct err *e)
{
	return outbox_chain(o, k->chain, &k->record, e);
}

void publish_case_done(struct publish_case *k)
{
	json_decref(k->record);
	k->record = NULL;
}

/* Of what can happen more than once, when: the fix, or the run. */
void publish_case_id(const struct publish_case *k, enum publish_what w, char out[OUTBOX_NAME])
{
	int n = snprintf(out, OUTBOX_NAME, "%s-%s-%s", k->place, names[w], k->name);
	char run[OUTBOX_PART];

	if (n < 0 || n >= OUTBOX_NAME)
		return;
	if (w == PUBLISH_FIXED || w == PUBLISH_REGRESSED)
		snprintf(out + n, OUTBOX_NAME - (size_t)n, "-%llu", U(k->crash->fixed.time));
	if (w != PUBLISH_AGAIN)
		return;
	outbox_name(slice_of(k->crash->last_seen.run), run);
	snprintf(out + n, OUTBOX_NAME - (size_t)n, "-%.40s", run);
}

static bool is_told(const struct publish_case *k, struct outbox *o, enum publish_what w)
{
	char id[OUTBOX_NAME];

	publish_case_id(k, w, id);
	return outbox_has(o, id, k->record);
}

/* --- GitHub ------------------------------------------------------------------- */

static bool never_failed_again(const struct known_crash *c)
{
	return c->reproduction.tries > 0 && c->reproduction.hits == 0;
}

/* Known, or on its way.  One that was dropped is not. */
static bool has_issue(const struct publish_case *k, struct outbox *o)
{
	char id[OUTBOX_NAME];

	if (*k->crash->issue_url || *outbox_chain_url(k->record))
		return true;
	publish_case_id(k, PUBLISH_NEW, id);
	return outbox_has(o, id, k->record) &&
	       strcmp(outbox_chain_how(k->record, id), "dropped") != 0;
}

static bool seen_in_this_run(const struct publish_case *k)
{
	const struct known_crash *c = k->crash;

	return k->p->run && strcmp(c->last_seen.run, k->p->run) == 0 &&
	       strcmp(c->first_seen.run, k->p->run) != 0;
}

/* Nothing that could have changed since it was filed. */
static bool github_may_want(const struct publish_case *k)
{
	const struct known_crash *c = k->crash;

	if (c->security && k->p->github->security == SECURITY_SKIP)
		return false;
	return !*c->issue_url || !ledger_state_open(c->state) || c->state == LEDGER_REGRESSED ||
	       seen_in_this_run(k);
}

static bool github_wants(const struct publish_case *k, struct outbox *o, enum publish_what *ret)
{
	const struct github_config *g = k->p->github;
	const struct known_crash *c = k->crash;

	if (!has_issue(k, o)) {
		*ret = PUBLISH_NEW;
		return ledger_state_open(c->state) && !never_failed_again(c) &&
		       outbox_chain_empty(k->record) && !is_told(k, o, PUBLISH_NEW);
	}
	if (c->state == LEDGER_FIXED) {
		*ret = PUBLISH_FIXED;
		return g->on_fixed != ISSUE_NONE && !is_told(k, o, PUBLISH_FIXED);
	}
	if (g->on_again == ISSUE_NONE)
		return false;
	if (c->state == LEDGER_REGRESSED && !is_told(k, o, PUBLISH_REGRESSED)) {
		*ret = PUBLISH_REGRESSED;
		return true;
	}
	*ret = PUBLISH_AGAIN; /* what waits for this issue says as much */
	return seen_in_this_run(k) && !outbox_chain_waits(o, k->chain) &&
	       !is_told(k, o, PUBLISH_AGAIN);
}

/* --- a webhook ------------------------------------------------------------------ */

static enum publish_what hook_event(const struct known_crash *c)
{
	if (c->state == LEDGER_FIXED)
		return PUBLISH_FIXED;
	return c->state == LEDGER_REGRESSED ? PUBLISH_REGRESSED : PUBLISH_NEW;
}

/* What is older than the webhook is no news. */
static bool hook_may_want(const struct publish_case *k, const struct outbox *o)
{
	uint64_t since = outbox_place_get(o, k->place, "since");
	const struct known_crash *c = k->crash;
	enum publish_what w = hook_event(c);
	bool recent;

	if (w == PUBLISH_FIXED)
		recent = c->fixed.time >= since;
	else if (w == PUBLISH_REGRESSED)
		recent = c->last_seen.time >= since;
	else
		recent = c->state == LEDGER_NEW || c->first_seen.time >= since;
	return recent && webhook_wants(k->hook, publish_what_name(w));
}

bool publish_case_may_want(const struct publish_case *k, const struct outbox *o)
{
	return k->hook ? hook_may_want(k, o) : github_may_want(k);
}

bool publish_case_wants(const struct publish_case *k, struct outbox *o, enum publish_what *ret)
{
	if (!k->hook)
		return github_wants(k, o, ret);
	*ret = hook_event(k->crash);
	return !is_told(k, o, *ret);
}

int publish_case_queue(struct publish_case *k, struct outbox *o, enum publish_what w, bool *ret_new,
		       struct err *e)
{
	_autojson_ json_t *event = NULL;
	const char *url = outbox_chain_url(k->record);
	char id[OUTBOX_NAME];
	struct outbox_item item = {k->place, id, k->chain, k->crash->signature, NULL, NULL};
	int r;

	publish_case_id(k, w, id);
	r = publish_event(k, w, id, &event, e);
	if (r < 0)
		return r;
	item.event = event;
	if (!k->hook)
		item.url = *url ? url : k->crash->issue_url;
	return outbox_queue(o, &item, k->p->now, ret_new, e);
}
