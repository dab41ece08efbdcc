/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a destination needs a notification about a crash. */
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/sys.h"
#include "runner/crash/ledger/input.h"
#include "runner/publish/internal.h"
#include "runner/publish/webhook.h"

#include <stdio.h>
#include <string.h>

#define U(n) ((unsigned long long)(n))

enum { SMALLER_S = 7 * 86400 };

static const char *const names[] = {
    [PUBLISH_NEW] = "new",	   [PUBLISH_AGAIN] = "again",
    [PUBLISH_FIXED] = "fixed",	   [PUBLISH_REGRESSED] = "regressed",
    [PUBLISH_FOUND] = "found",	   [PUBLISH_PARTLY] = "partly",
    [PUBLISH_SMALLER] = "smaller",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == PUBLISH_WHAT_COUNT, "name every event");

const char *publish_what_name(enum publish_what w)
{
	return w < PUBLISH_WHAT_COUNT ? names[w] : "";
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
		       const struct known_crash *entry, const struct webhook_config *hook,
		       struct publish_case *ret)
{
	*ret = (struct publish_case){
	    .p = p, .crash = c, .entry = entry ? entry : c->by[c->lead], .hook = hook};
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

/* The time of the last fix among the entries in this state. */
static uint64_t fixed_at(const struct known_crash *c, enum ledger_state s)
{
	uint64_t at = 0;

	for (size_t i = 0; i < c->n_by; i++)
		if (c->by[i]->state == s && c->by[i]->fixed.time > at)
			at = c->by[i]->fixed.time;
	return at;
}

/* Events that can repeat have their time in the id (of the fix or the run), or their target. */
void publish_case_id(const struct publish_case *k, enum publish_what w, char out[OUTBOX_NAME])
{
	int n = snprintf(out, OUTBOX_NAME, "%s-%s-%s", k->place, names[w], k->name);
	const struct known_crash *c = k->crash, *of = k->hook ? k->entry : c->by[c->n_by - 1];
	char run[OUTBOX_PART], sum[DIGEST_SHA1_HEX], *to = out + n;
	size_t room = OUTBOX_NAME - (size_t)n;

	if (n < 0 || n >= OUTBOX_NAME)
		return;
	if (w == PUBLISH_FIXED || w == PUBLISH_PARTLY)
		snprintf(to, room, "-%llu", U(fixed_at(c, LEDGER_FIXED)));
	if (w == PUBLISH_REGRESSED)
		snprintf(to, room, "-%llu", U(fixed_at(c, LEDGER_REGRESSED)));
	digest_sha1_hex(slice_of(of->fuzzer), sum);
	/* The first target's id has no suffix, for compatibility with versions that had one
	 * target a crash. */
	if (w == PUBLISH_FOUND || (w == PUBLISH_NEW && k->hook && of != c->by[0]))
		snprintf(to, room, "-%.12s", sum);
	if (w != PUBLISH_AGAIN)
		return;
	outbox_name(slice_of(c->last_seen.run), run);
	snprintf(to, room, "-%.40s", run);
}

static bool publish_case_is_told(const struct publish_case *k, struct outbox *o,
				 enum publish_what w)
{
	char id[OUTBOX_NAME];

	publish_case_id(k, w, id);
	return outbox_has(o, id, k->record);
}

/* --- GitHub --------------------------------------------------------------------- */

static bool never_failed_again(const struct known_crash *c)
{
	return c->reproduction.tries > 0 && c->reproduction.hits == 0;
}

/* The issue is known, or its notification is pending or was sent.  A dropped one does not count. */
static bool has_issue(const struct publish_case *k, struct outbox *o)
{
	char id[OUTBOX_NAME];

	if (*k->crash->issue_url || *outbox_chain_url(k->record))
		return true;
	publish_case_id(k, PUBLISH_NEW, id);
	return outbox_has(o, id, k->record) &&
	       strcmp(outbox_chain_how(k->record, id), "dropped") != 0;
}

/* Whether a target that had the crash before failed with it in this run. */
static bool seen_in_this_run(const struct publish_case *k)
{
	for (size_t i = 0; k->p->run && i < k->crash->n_by; i++) {
		const struct known_crash *c = k->crash->by[i];

		if (c->state != LEDGER_IGNORED && strcmp(c->last_seen.run, k->p->run) == 0 &&
		    strcmp(c->first_seen.run, k->p->run) != 0)
			return true;
	}
	return false;
}

static bool is_worth_it(const struct known_crash *entry)
{
	return ledger_state_open(entry->state) && !never_failed_again(entry);
}

/* Whether an entry from `from` on is worth a notification. */
static bool any_worth_it(const struct publish_case *k, size_t from)
{
	for (size_t i = from; i < k->crash->n_by; i++)
		if (is_worth_it(k->crash->by[i]))
			return true;
	return false;
}

/* An issue of an older fuzzcell, without the number, names the targets that earlier runs found. */
size_t publish_case_named(const struct publish_case *k)
{
	const json_t *j = json_object_get(k->record, "entries");
	const struct known_crash *c = k->crash;
	size_t n = 0;

	if (json_is_integer(j) && json_integer_value(j) >= 0)
		return (size_t)json_integer_value(j);
	while (n < c->n_by && c->by[n]->state != LEDGER_NEW &&
	       (!k->p->run || strcmp(c->by[n]->first_seen.run, k->p->run) != 0))
		n++;
	return n > 0 ? n : 1;
}

/* The input was minimised, and the crash is recent enough for an update. */
static bool is_smaller(const struct publish_case *k)
{
	const struct known_crash *c = k->crash;

	return *c->by[c->lead]->minimized && c->by[c->lead]->minimize_ended &&
	       k->p->now < c->first_seen.time + SMALLER_S;
}

/* The issue has this target's original input, and the smaller input is available. */
static bool issue_has_larger(const struct publish_case *k)
{
	const struct known_crash *lead = k->crash->by[k->crash->lead];
	_autoclose_ int fd = -1;
	struct err e;

	return json_is_false(json_object_get(k->record, "minimized")) &&
	       strcmp(json_get_text(k->record, "target"), lead->fuzzer) == 0 &&
	       ledger_input_open(k->p->state_dirfd, lead, LEDGER_MINIMIZED, &fd, &e) == 0;
}

/* A quick check: false if nothing can have changed since the issue was filed. */
static bool github_may_want(const struct publish_case *k)
{
	const struct known_crash *c = k->crash;

	return !*c->issue_url || !ledger_state_open(c->state) || c->state == LEDGER_REGRESSED ||
	       c->n_by > 1 || seen_in_this_run(k) || is_smaller(k);
}

static bool came_back(const struct publish_case *k, struct outbox *o, enum publish_what *ret)
{
	*ret = PUBLISH_REGRESSED;
	if (k->crash->state == LEDGER_REGRESSED && !publish_case_is_told(k, o, PUBLISH_REGRESSED))
		return true;
	*ret = PUBLISH_AGAIN; /* a pending entry of this issue says the same */
	return seen_in_this_run(k) && !outbox_chain_waits(o, k->chain) &&
	       !publish_case_is_told(k, o, PUBLISH_AGAIN);
}

static bool github_wants(const struct publish_case *k, struct outbox *o, enum publish_what *ret)
{
	const struct github_config *g = k->p->github;
	const struct known_crash *c = k->crash;

	if (!has_issue(k, o) && outbox_chain_empty(k->record)) {
		*ret = PUBLISH_NEW;
		return any_worth_it(k, 0) && !publish_case_is_told(k, o, PUBLISH_NEW);
	}
	/* The target is new, even if a user dropped the notification of the targets before it. */
	*ret = PUBLISH_FOUND;
	if (publish_case_named(k) < c->n_by && any_worth_it(k, publish_case_named(k)) &&
	    !outbox_chain_waits(o, k->chain) && !publish_case_is_told(k, o, PUBLISH_FOUND))
		return true;
	if (!has_issue(k, o))
		return false;
	if (c->state == LEDGER_FIXED) {
		*ret = PUBLISH_FIXED;
		return g->on_fixed != ISSUE_NONE && !publish_case_is_told(k, o, PUBLISH_FIXED);
	}
	*ret = PUBLISH_PARTLY;
	if (g->on_fixed != ISSUE_NONE && ledger_state_open(c->state) &&
	    fixed_at(c, LEDGER_FIXED) > 0 && !publish_case_is_told(k, o, PUBLISH_PARTLY))
		return true;
	if (g->on_again != ISSUE_NONE && came_back(k, o, ret))
		return true;
	*ret = PUBLISH_SMALLER;
	return is_smaller(k) && issue_has_larger(k) && !publish_case_is_told(k, o, PUBLISH_SMALLER);
}

/* --- a webhook ------------------------------------------------------------------ */

static enum publish_what hook_event(const struct known_crash *c)
{
	if (c->state == LEDGER_FIXED)
		return PUBLISH_FIXED;
	return c->state == LEDGER_REGRESSED ? PUBLISH_REGRESSED : PUBLISH_NEW;
}

/* A new finding belongs to an entry, a fix or a return to the whole crash. */
static const struct known_crash *publish_case_told_of(const struct publish_case *k)
{
	return hook_event(k->entry) == PUBLISH_NEW ? k->entry : k->crash;
}

static bool is_recent(const struct known_crash *c, enum publish_what w, uint64_t since)
{
	if (w == PUBLISH_FIXED)
		return c->fixed.time >= since;
	if (w == PUBLISH_REGRESSED)
		return c->last_seen.time >= since;
	return c->state == LEDGER_NEW || c->first_seen.time >= since;
}

/* Events older than the webhook are not sent. */
static bool hook_may_want(const struct publish_case *k, const struct outbox *o)
{
	uint64_t since = outbox_place_get(o, k->place, "since");
	const struct known_crash *c = publish_case_told_of(k);
	enum publish_what w = hook_event(c);

	if (c == k->crash && w == PUBLISH_NEW)
		return false; /* fixed in this target, but not in others */
	return is_recent(c, w, since) && webhook_wants(k->hook, publish_what_name(w));
}

bool publish_case_may_want(const struct publish_case *k, const struct outbox *o)
{
	return k->hook ? hook_may_want(k, o) : github_may_want(k);
}

bool publish_case_wants(const struct publish_case *k, struct outbox *o, enum publish_what *ret)
{
	if (!k->hook)
		return github_wants(k, o, ret);
	*ret = hook_event(publish_case_told_of(k));
	return !publish_case_is_told(k, o, *ret);
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
