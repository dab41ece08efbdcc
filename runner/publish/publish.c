/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the ledger with the sent notifications. */
#include "runner/publish/publish.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/publish/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DAY = 86400 };

bool publish_has_github(const struct publish *p)
{
	return p->github && p->github->repository && *p->github->repository;
}

/* Keeps the first error, so that one failing crash does not hold up the others. */
static void first_error(int now, const struct err *why, int *io_r, struct err *e)
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

static int by_target(const void *a, const void *b)
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
	qsort(f->v, f->n, sizeof(*f->v), by_target);
	for (size_t i = 1; i < f->n; i++)
		if (strcmp(f->v[i].crash->fuzzer, f->v[i - 1].crash->fuzzer) == 0)
			f->v[i].turn = f->v[i - 1].turn + 1;
	qsort(f->v, f->n, sizeof(*f->v), publish_by_turn);
}

/* How many more issues this day may have; a day begins with its first issue. */
static size_t room(const struct publish *p, struct outbox *o, uint64_t *ret_day, uint64_t *ret_used)
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

static int file_one(const struct publish *p, struct outbox *o, const struct known_crash *c,
		    struct publish_sum *sum, struct err *e)
{
	struct publish_case k;
	bool fresh = false;
	int r;

	publish_case_init(p, c, NULL, NULL, &k);
	r = publish_case_load(&k, o, e);
	if (r == 0)
		r = publish_case_queue(&k, o, PUBLISH_NEW, &fresh, e);
	publish_case_done(&k);
	sum->queued += fresh;
	sum->issues += fresh;
	return r;
}

/* Issues are counted before they are queued: after a kill there are fewer, never more. */
static int file_new(const struct publish *p, struct outbox *o, struct fresh *f,
		    struct publish_sum *sum, struct err *e)
{
	uint64_t day, used;
	struct err why;
	size_t n = room(p, o, &day, &used);
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
		first_error(file_one(p, o, f->v[i].crash, sum, &why), &why, &r, e);
	return r;
}

/* --- existing issues and webhooks ----------------------------------------------- */

static int publish_tell(struct publish_case *k, struct outbox *o, struct fresh *fresh,
			struct publish_sum *sum, struct err *e)
{
	enum publish_what w;
	bool queued = false;
	int r;

	if (!publish_case_may_want(k, o))
		return 0;
	r = publish_case_load(k, o, e);
	if (r < 0)
		return r;
	if (publish_case_wants(k, o, &w)) {
		if (fresh && !k->hook && w == PUBLISH_NEW)
			fresh->v[fresh->n++].crash = k->crash;
		else
			r = publish_case_queue(k, o, w, &queued, e);
	}
	sum->queued += queued;
	publish_case_done(k);
	return r;
}

/* A crash has one issue, but a webhook is notified of each target. */
static int tell_hook(const struct publish *p, struct outbox *o, const struct known_crash *c,
		     const struct webhook_config *hook, struct publish_sum *sum, struct err *e)
{
	struct publish_case k;
	struct err why;
	int r = 0;

	for (size_t i = 0; i < c->n_by; i++) {
		if (c->by[i]->state == LEDGER_IGNORED)
			continue;
		publish_case_init(p, c, c->by[i], hook, &k);
		first_error(publish_tell(&k, o, NULL, sum, &why), &why, &r, e);
	}
	return r;
}

/* A security-relevant finding of one target does not silence another target's finding. */
static bool is_skipped(const struct publish *p, const struct known_crash *c)
{
	for (size_t i = 0; i < c->n_by; i++)
		if (!c->by[i]->security)
			return false;
	return p->github->security == SECURITY_SKIP;
}

static int tell_all(const struct publish *p, struct outbox *o, const struct known_crash *c,
		    struct fresh *fresh, struct publish_sum *sum, struct err *e)
{
	struct publish_case k;
	struct err why;
	int r = 0;

	if (*c->merged_into || c->state == LEDGER_IGNORED)
		return 0;
	publish_case_init(p, c, NULL, NULL, &k);
	if (publish_has_github(p) && !is_skipped(p, c))
		r = publish_tell(&k, o, fresh, sum, e);
	for (size_t i = 0; i < p->n_hooks; i++)
		first_error(tell_hook(p, o, c, &p->hooks[i], sum, &why), &why, &r, e);
	return r;
}

/* A new webhook gets no old events.  The day of margin covers a run that was killed before it
 * could send. */
static int know_hooks(const struct publish *p, struct outbox *o, struct err *e)
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
	r = know_hooks(p, o, e);
	for (size_t i = 0; i < n; i++)
		first_error(tell_all(p, o, ledger_at(l, i), &fresh, ret, &why), &why, &r, e);
	if (publish_has_github(p))
		first_error(file_new(p, o, &fresh, ret, &why), &why, &r, e);
	return r < 0 ? err_wrap(e, "publish") : 0;
}
