/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the ledger with the sent notifications: which notifications each destination needs. */
#include "runner/publish/publish.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/crash/ledger/input.h"
#include "runner/publish/internal.h"
#include "runner/publish/webhook.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- destinations and cases ----------------------------------------------------- */

#define U(n) ((unsigned long long)(n))

enum { DAY = 86400, SMALLER_S = 7 * DAY, BISECTED_S = 30 * DAY };

static const char *const publish_names[] = {
    [PUBLISH_NEW] = "new",	   [PUBLISH_AGAIN] = "again",
    [PUBLISH_FIXED] = "fixed",	   [PUBLISH_REGRESSED] = "regressed",
    [PUBLISH_FOUND] = "found",	   [PUBLISH_PARTLY] = "partly",
    [PUBLISH_SMALLER] = "smaller", [PUBLISH_BISECTED] = "bisected",
};
_Static_assert(sizeof(publish_names) / sizeof(publish_names[0]) == PUBLISH_WHAT_COUNT,
	       "name every event");

const char *publish_what_name(enum publish_what w)
{
	return w < PUBLISH_WHAT_COUNT ? publish_names[w] : "";
}

bool publish_has_github(const struct publish *p)
{
	return p->github && p->github->repository && *p->github->repository;
}

void publish_hook_place(const struct webhook_config *h, char out[OUTBOX_PLACE])
{
	snprintf(out, OUTBOX_PLACE, "hook-%.64s", h->name);
}

bool publish_has_place(const struct publish *p, const char *place)
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
static uint64_t case_fixed_at(const struct known_crash *c, enum ledger_state s)
{
	uint64_t at = 0;

	for (size_t i = 0; i < c->n_by; i++)
		if (c->by[i]->state == s && c->by[i]->fixed.time > at)
			at = c->by[i]->fixed.time;
	return at;
}

void publish_case_edges(const struct publish_case *k, char ret[PUBLISH_EDGES])
{
	const struct known_crash *c = k->crash->by[k->crash->lead];
	_autofree_ char *both = xasprintf("%s %s", c->culprit.commit, c->fix.commit);
	char sum[DIGEST_SHA1_HEX] = "";

	if (*c->culprit.commit || *c->fix.commit)
		digest_sha1_hex(slice_of(both), sum);
	snprintf(ret, PUBLISH_EDGES, "%.16s", sum);
}

/* Events that can repeat have their time in the id (of the fix or the run), or their target. */
static void case_id(const struct publish_case *k, enum publish_what w, char out[OUTBOX_NAME])
{
	int n = snprintf(out, OUTBOX_NAME, "%s-%s-%s", k->place, publish_names[w], k->name);
	const struct known_crash *c = k->crash, *of = k->hook ? k->entry : c->by[c->n_by - 1];
	char run[OUTBOX_PART], sum[DIGEST_SHA1_HEX], edges[PUBLISH_EDGES], *to = out + n;
	size_t room = OUTBOX_NAME - (size_t)n;

	if (n < 0 || n >= OUTBOX_NAME)
		return;
	if (w == PUBLISH_FIXED || w == PUBLISH_PARTLY)
		snprintf(to, room, "-%llu", U(case_fixed_at(c, LEDGER_FIXED)));
	if (w == PUBLISH_REGRESSED)
		snprintf(to, room, "-%llu", U(case_fixed_at(c, LEDGER_REGRESSED)));
	digest_sha1_hex(slice_of(of->fuzzer), sum);
	publish_case_edges(k, edges);
	/* The first target's id has no suffix. */
	if (w == PUBLISH_FOUND || (w == PUBLISH_NEW && k->hook && of != c->by[0]))
		snprintf(to, room, "-%.12s", sum);
	if (w == PUBLISH_BISECTED)
		snprintf(to, room, "-%s", edges);
	if (w != PUBLISH_AGAIN)
		return;
	outbox_name(slice_of(c->last_seen.run), run);
	snprintf(to, room, "-%.40s", run);
}

static bool case_was_queued(const struct publish_case *k, struct outbox *o, enum publish_what w)
{
	char id[OUTBOX_NAME];

	case_id(k, w, id);
	return outbox_has(o, id, k->record);
}

/* --- GitHub --------------------------------------------------------------------- */

static bool case_never_failed_again(const struct known_crash *c)
{
	return c->reproduction.tries > 0 && c->reproduction.hits == 0;
}

/* The issue is known, or its notification is pending or was sent.  A dropped one does not count. */
static bool case_has_issue(const struct publish_case *k, struct outbox *o)
{
	char id[OUTBOX_NAME];

	if (*k->crash->issue_url || *outbox_chain_url(k->record))
		return true;
	case_id(k, PUBLISH_NEW, id);
	return outbox_has(o, id, k->record) &&
	       strcmp(outbox_chain_how(k->record, id), "dropped") != 0;
}

/* Whether a target that had the crash before failed with it in this run. */
static bool case_seen_in_this_run(const struct publish_case *k)
{
	for (size_t i = 0; k->p->run && i < k->crash->n_by; i++) {
		const struct known_crash *c = k->crash->by[i];

		if (c->state != LEDGER_IGNORED && strcmp(c->last_seen.run, k->p->run) == 0 &&
		    strcmp(c->first_seen.run, k->p->run) != 0)
			return true;
	}
	return false;
}

static bool case_is_worth_it(const struct known_crash *entry)
{
	return ledger_state_open(entry->state) && !case_never_failed_again(entry);
}

/* Whether an entry from `from` on is worth a notification. */
static bool case_any_worth_it(const struct publish_case *k, size_t from)
{
	for (size_t i = from; i < k->crash->n_by; i++)
		if (case_is_worth_it(k->crash->by[i]))
			return true;
	return false;
}

/* Without the number (the notification was dropped, a user named the issue), the targets that
 * earlier runs found count as named. */
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
static bool case_is_smaller(const struct publish_case *k)
{
	const struct known_crash *c = k->crash;

	return *c->by[c->lead]->minimized && c->by[c->lead]->minimize_ended &&
	       k->p->now < c->first_seen.time + SMALLER_S;
}

/* The issue has this target's original input, and the smaller input is available. */
static bool case_issue_has_larger(const struct publish_case *k)
{
	const struct known_crash *lead = k->crash->by[k->crash->lead];
	_autoclose_ int fd = -1;
	struct err e;

	return json_is_false(json_object_get(k->record, "minimized")) &&
	       strcmp(json_get_text(k->record, "target"), lead->fuzzer) == 0 &&
	       ledger_input_open(k->p->state_dirfd, lead, LEDGER_MINIMIZED, &fd, &e) == 0;
}

/* A commit is known, and the crash, or its fix, is recent enough for a comment. */
static bool case_is_bisected(const struct publish_case *k)
{
	const struct known_crash *c = k->crash;
	char edges[PUBLISH_EDGES];

	publish_case_edges(k, edges);
	return *edges && (k->p->now < c->first_seen.time + BISECTED_S ||
			  k->p->now < case_fixed_at(c, LEDGER_FIXED) + BISECTED_S);
}

/* The issue does not have the commit yet. */
static bool case_issue_lacks_commit(const struct publish_case *k)
{
	char edges[PUBLISH_EDGES];

	publish_case_edges(k, edges);
	return strcmp(json_get_text(k->record, "edges"), edges) != 0 && !publish_case_redacted(k);
}

static bool case_wants_commit(const struct publish_case *k, struct outbox *o)
{
	return case_is_bisected(k) && case_issue_lacks_commit(k) &&
	       !outbox_chain_waits(o, k->chain) && !case_was_queued(k, o, PUBLISH_BISECTED);
}

/* A quick check: false if nothing can have changed since the issue was filed. */
static bool case_github_may_want(const struct publish_case *k)
{
	const struct known_crash *c = k->crash;

	return !*c->issue_url || !ledger_state_open(c->state) || c->state == LEDGER_REGRESSED ||
	       c->n_by > 1 || case_seen_in_this_run(k) || case_is_smaller(k) || case_is_bisected(k);
}

static bool case_came_back(const struct publish_case *k, struct outbox *o, enum publish_what *ret)
{
	*ret = PUBLISH_REGRESSED;
	if (k->crash->state == LEDGER_REGRESSED && !case_was_queued(k, o, PUBLISH_REGRESSED))
		return true;
	*ret = PUBLISH_AGAIN; /* a pending entry of this issue has the same news */
	return case_seen_in_this_run(k) && !outbox_chain_waits(o, k->chain) &&
	       !case_was_queued(k, o, PUBLISH_AGAIN);
}

static bool case_github_wants(const struct publish_case *k, struct outbox *o,
			      enum publish_what *ret)
{
	const struct github_config *g = k->p->github;
	const struct known_crash *c = k->crash;

	if (!case_has_issue(k, o) && outbox_chain_empty(k->record)) {
		*ret = PUBLISH_NEW;
		return case_any_worth_it(k, 0) && !case_was_queued(k, o, PUBLISH_NEW);
	}
	/* The target is new, even if a user dropped the notification of the targets before it. */
	*ret = PUBLISH_FOUND;
	if (publish_case_named(k) < c->n_by && case_any_worth_it(k, publish_case_named(k)) &&
	    !outbox_chain_waits(o, k->chain) && !case_was_queued(k, o, PUBLISH_FOUND))
		return true;
	if (!case_has_issue(k, o))
		return false;
	*ret = PUBLISH_FIXED;
	if (c->state == LEDGER_FIXED && g->on_fixed != ISSUE_NONE &&
	    !case_was_queued(k, o, PUBLISH_FIXED))
		return true;
	*ret = PUBLISH_BISECTED;
	if (case_wants_commit(k, o))
		return true;
	if (c->state == LEDGER_FIXED)
		return false;
	*ret = PUBLISH_PARTLY;
	if (g->on_fixed != ISSUE_NONE && ledger_state_open(c->state) &&
	    case_fixed_at(c, LEDGER_FIXED) > 0 && !case_was_queued(k, o, PUBLISH_PARTLY))
		return true;
	if (g->on_again != ISSUE_NONE && case_came_back(k, o, ret))
		return true;
	*ret = PUBLISH_SMALLER;
	return case_is_smaller(k) && case_issue_has_larger(k) &&
	       !case_was_queued(k, o, PUBLISH_SMALLER);
}

/* --- a webhook ------------------------------------------------------------------ */

static enum publish_what case_hook_event(const struct known_crash *c)
{
	if (c->state == LEDGER_FIXED)
		return PUBLISH_FIXED;
	return c->state == LEDGER_REGRESSED ? PUBLISH_REGRESSED : PUBLISH_NEW;
}

/* A new finding belongs to an entry, a fix or a return to the whole crash. */
static const struct known_crash *case_subject(const struct publish_case *k)
{
	return case_hook_event(k->entry) == PUBLISH_NEW ? k->entry : k->crash;
}

static bool case_is_recent(const struct known_crash *c, enum publish_what w, uint64_t since)
{
	if (w == PUBLISH_FIXED)
		return c->fixed.time >= since;
	if (w == PUBLISH_REGRESSED)
		return c->last_seen.time >= since;
	return c->state == LEDGER_NEW || c->first_seen.time >= since;
}

/* Events older than the webhook are not sent. */
static bool case_hook_may_want(const struct publish_case *k, const struct outbox *o)
{
	uint64_t since = outbox_place_get(o, k->place, "since");
	const struct known_crash *c = case_subject(k);
	enum publish_what w = case_hook_event(c);

	if (c == k->crash && w == PUBLISH_NEW)
		return false; /* fixed in this target, but not in others */
	return case_is_recent(c, w, since) && webhook_wants(k->hook, publish_what_name(w));
}

/* A quick check with the ledger only, because most crashes are old and need no notification. */
static bool case_may_want(const struct publish_case *k, const struct outbox *o)
{
	return k->hook ? case_hook_may_want(k, o) : case_github_may_want(k);
}

/* True if a notification is due that was not queued yet; *ret is its kind. */
static bool case_wants(const struct publish_case *k, struct outbox *o, enum publish_what *ret)
{
	if (!k->hook)
		return case_github_wants(k, o, ret);
	*ret = case_hook_event(case_subject(k));
	return !case_was_queued(k, o, *ret);
}

/* *ret_new: it was not queued before. */
static int case_queue(struct publish_case *k, struct outbox *o, enum publish_what w, bool *ret_new,
		      struct err *e)
{
	_autojson_ json_t *event = NULL;
	const char *url = outbox_chain_url(k->record);
	char id[OUTBOX_NAME];
	struct outbox_item item = {k->place, id, k->chain, k->crash->signature, NULL, NULL};
	int r;

	case_id(k, w, id);
	r = publish_event(k, w, id, &event, e);
	if (r < 0)
		return r;
	item.event = event;
	if (!k->hook)
		item.url = *url ? url : k->crash->issue_url;
	return outbox_queue(o, &item, k->p->now, ret_new, e);
}

/* Keeps the first error, so that one failing crash does not hold up the others. */
static void publish_first_error(int now, const struct err *why, int *io_r, struct err *e)
{
	if (now >= 0 || *io_r < 0)
		return;
	*e = *why;
	*io_r = now;
}

/* --- new issues: a daily limit -------------------------------------------------- */

/* turn: the number of worse crashes of the same target. */
struct fresh_crash {
	const struct known_crash *crash;
	size_t turn;
};

struct fresh {
	struct fresh_crash *v;
	size_t n;
};

static int publish_rank(const struct known_crash *c)
{
	static const char *const severities[] = {"high", "medium", "low"};
	int i = 0;

	while (i < 3 && strcmp(c->severity, severities[i]) != 0)
		i++;
	return c->security ? i : 4 + i;
}

static int publish_by_need(const struct known_crash *x, const struct known_crash *y)
{
	if (publish_rank(x) != publish_rank(y))
		return publish_rank(x) - publish_rank(y);
	if (x->first_seen.time != y->first_seen.time)
		return x->first_seen.time < y->first_seen.time ? -1 : 1;
	return strcmp(x->signature, y->signature);
}

static int publish_by_target(const void *a, const void *b)
{
	const struct fresh_crash *x = a, *y = b;
	int r = strcmp(x->crash->fuzzer, y->crash->fuzzer);

	return r ? r : publish_by_need(x->crash, y->crash);
}

static int publish_by_turn(const void *a, const void *b)
{
	const struct fresh_crash *x = a, *y = b;

	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	return publish_by_need(x->crash, y->crash);
}

/* The worst crash of each target comes first, then the second worst of each.  So a target that
 * prints many forged reports does not use up the issues of the others. */
static void publish_sort(struct fresh *f)
{
	if (f->n == 0)
		return;
	qsort(f->v, f->n, sizeof(*f->v), publish_by_target);
	for (size_t i = 1; i < f->n; i++)
		if (strcmp(f->v[i].crash->fuzzer, f->v[i - 1].crash->fuzzer) == 0)
			f->v[i].turn = f->v[i - 1].turn + 1;
	qsort(f->v, f->n, sizeof(*f->v), publish_by_turn);
}

/* How many more issues this day may have; a day begins with its first issue. */
static size_t publish_room(const struct publish *p, struct outbox *o, uint64_t *ret_day,
			   uint64_t *ret_used)
{
	uint64_t day = outbox_place_get(o, PUBLISH_GITHUB, "day");
	uint64_t most = p->github->new_per_day;

	*ret_used = outbox_place_get(o, PUBLISH_GITHUB, "day_issues");
	if (p->now < day || p->now - day >= DAY) {
		day = p->now;
		*ret_used = 0;
	}
	*ret_day = day;
	return *ret_used < most ? (size_t)(most - *ret_used) : 0;
}

static int publish_file_one(const struct publish *p, struct outbox *o, const struct known_crash *c,
			    struct publish_sum *sum, struct err *e)
{
	struct publish_case k;
	bool fresh = false;
	int r;

	publish_case_init(p, c, NULL, NULL, &k);
	r = publish_case_load(&k, o, e);
	if (r == 0)
		r = case_queue(&k, o, PUBLISH_NEW, &fresh, e);
	publish_case_done(&k);
	sum->queued += fresh;
	return r;
}

/* Issues are counted before they are queued: after a kill there are fewer, never more. */
static int publish_file_new(const struct publish *p, struct outbox *o, struct fresh *f,
			    struct publish_sum *sum, struct err *e)
{
	uint64_t day, used;
	struct err why;
	size_t n = publish_room(p, o, &day, &used);
	int r = 0;

	if (f->n == 0)
		return 0;
	n = n < f->n ? n : f->n;
	sum->waiting = f->n - n;
	publish_sort(f);
	if (n > 0) {
		const struct outbox_number v[] = {{"day", day}, {"day_issues", used + n}};

		r = outbox_place_set(o, PUBLISH_GITHUB, v, 2, e);
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		publish_first_error(publish_file_one(p, o, f->v[i].crash, sum, &why), &why, &r, e);
	return r;
}

/* --- existing issues and webhooks ----------------------------------------------- */

static int publish_notify_case(struct publish_case *k, struct outbox *o, struct fresh *fresh,
			       struct publish_sum *sum, struct err *e)
{
	enum publish_what w;
	bool queued = false;
	int r;

	if (!case_may_want(k, o))
		return 0;
	r = publish_case_load(k, o, e);
	if (r < 0)
		return r;
	if (case_wants(k, o, &w)) {
		if (fresh && !k->hook && w == PUBLISH_NEW)
			fresh->v[fresh->n++].crash = k->crash;
		else
			r = case_queue(k, o, w, &queued, e);
	}
	sum->queued += queued;
	publish_case_done(k);
	return r;
}

/* A crash has one issue, but a webhook is notified of each target, once for all of its builds. */
static int publish_notify_hook(const struct publish *p, struct outbox *o,
			       const struct known_crash *c, const struct webhook_config *hook,
			       struct publish_sum *sum, struct err *e)
{
	struct publish_case k;
	struct err why;
	int r = 0;

	for (size_t i = 0; i < c->n_by; i++) {
		if (c->by[i]->state == LEDGER_IGNORED || ledger_is_further(c, i))
			continue;
		publish_case_init(p, c, c->by[i], hook, &k);
		publish_first_error(publish_notify_case(&k, o, NULL, sum, &why), &why, &r, e);
	}
	return r;
}

/* A security-relevant finding of one target does not silence another target's finding. */
static bool publish_is_skipped(const struct publish *p, const struct known_crash *c)
{
	for (size_t i = 0; i < c->n_by; i++)
		if (!c->by[i]->security)
			return false;
	return p->github->security == SECURITY_SKIP;
}

static int publish_notify_crash(const struct publish *p, struct outbox *o,
				const struct known_crash *c, struct fresh *fresh,
				struct publish_sum *sum, struct err *e)
{
	struct publish_case k;
	struct err why;
	int r = 0;

	if (*c->merged_into || c->state == LEDGER_IGNORED)
		return 0;
	publish_case_init(p, c, NULL, NULL, &k);
	if (publish_has_github(p) && !publish_is_skipped(p, c))
		r = publish_notify_case(&k, o, fresh, sum, e);
	for (size_t i = 0; i < p->n_hooks; i++)
		publish_first_error(publish_notify_hook(p, o, c, &p->hooks[i], sum, &why), &why, &r,
				    e);
	return r;
}

/* A new webhook gets no old events.  The day of margin covers a run that was killed before it
 * could send. */
static int publish_know_hooks(const struct publish *p, struct outbox *o, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_hooks; i++) {
		const struct outbox_number v = {"since", p->now > DAY ? p->now - DAY : 1};
		char place[OUTBOX_PLACE];
		uint64_t since;

		publish_hook_place(&p->hooks[i], place);
		since = outbox_place_get(o, place, "since");
		if (!since || since > p->now) /* or the clock was ahead */
			r = outbox_place_set(o, place, &v, 1, e);
	}
	return r;
}

int publish_queue(const struct publish *p, struct outbox *o, const struct ledger *l,
		  struct publish_sum *ret, struct err *e)
{
	size_t n = ledger_count(l);
	_autofree_ struct fresh_crash *v = xcalloc(n + 1, sizeof(*v));
	struct fresh fresh = {v, 0};
	struct err why;
	int r;

	*ret = (struct publish_sum){0};
	r = publish_know_hooks(p, o, e);
	for (size_t i = 0; i < n; i++)
		publish_first_error(publish_notify_crash(p, o, ledger_at(l, i), &fresh, ret, &why),
				    &why, &r, e);
	if (publish_has_github(p))
		publish_first_error(publish_file_new(p, o, &fresh, ret, &why), &why, &r, e);
	return r < 0 ? err_wrap(e, "publish") : 0;
}
