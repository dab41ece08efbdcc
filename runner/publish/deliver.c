/* SPDX-License-Identifier: Apache-2.0 */
/* Sends due entries, one at a time, and reads from the records what the senders learned. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "runner/publish/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A missing or refused token may be replaced: the time until the next check. */
enum { TOKEN_CHECK_S = 300 };

/* One call of publish_deliver(). */
struct deliver_round {
	const struct publish_deliver *d;
	struct outbox *o;
	struct publish_delivered *sum;
	bool *mute; /* for each sender: it has no secret, so it is not tried again */
};

/* One attempt: what delivery.save needs. */
struct deliver_attempt {
	struct outbox *o;
	struct outbox_work work;
};

static uint64_t deliver_now(const struct publish_deliver *d)
{
	return d->now ? d->now(d->arg) : clock_real_us() / USEC_PER_SEC;
}

static int deliver_save(void *arg, struct err *e)
{
	struct deliver_attempt *a = arg;

	return outbox_progress(a->o, &a->work, e);
}

static const struct publish_sender *deliver_sender(const struct publish_deliver *d,
						   const char *place)
{
	for (size_t i = 0; i < d->n_senders; i++)
		if (strcmp(d->senders[i].place, place) == 0)
			return &d->senders[i];
	return NULL;
}

/* Keeps the first failure only. */
static void deliver_keep_failure(const char *place, const char *why, struct publish_delivered *sum)
{
	char line[256];

	if (*sum->failed)
		return;
	outbox_line(line, sizeof(line), why);
	snprintf(sum->failed, sizeof(sum->failed), "%s: %s", place, line);
}

static int deliver_record(const struct publish_deliver *d, struct deliver_attempt *a,
			  const struct delivery *v, struct publish_delivered *sum, struct err *e)
{
	const struct outbox_outcome c = {
	    .now = deliver_now(d),
	    .url = v->url,
	    .ignored = v->ignored,
	    .deleted = v->deleted,
	    .refused = v->result == DELIVERY_REFUSED,
	    .whole_place = v->whole_host,
	    .wait_s = v->wait_s,
	    .refused_token = v->whole_host ? v->refused_token : 0,
	    .why = v->why,
	    .retry_max_s = d->retry_max_s,
	};

	if (v->result == DELIVERY_DONE) {
		sum->done++;
		return outbox_sent(a->o, &a->work, &c, e);
	}
	deliver_keep_failure(a->work.entry->place, v->why, sum);
	sum->refused += v->result == DELIVERY_REFUSED;
	if (v->result == DELIVERY_LATER && v->unasked)
		return outbox_unasked(a->o, &a->work, v->why, e);
	return outbox_later(a->o, &a->work, &c, e);
}

/* -ENOENT: the entry no longer exists. */
static int deliver_one(struct deliver_round *w, size_t i, const struct publish_sender *s,
		       struct err *e)
{
	struct deliver_attempt a = {.o = w->o};
	struct delivery v = {.state_dirfd = w->d->state_dirfd,
			     .save = deliver_save,
			     .arg = &a,
			     .result = DELIVERY_LATER};
	char id[OUTBOX_NAME];
	int r = outbox_begin(w->o, i, &a.work, e);

	if (r < 0)
		return r;
	/* A copy, because the entry and its texts may be freed while v still points to them. */
	snprintf(id, sizeof(id), "%s", a.work.entry->id);
	v.id = id;
	v.event = a.work.event;
	v.created = a.work.entry->created;
	v.progress = a.work.progress;
	s->deliver(s->arg, &v);
	v.why[sizeof(v.why) - 1] = v.url[sizeof(v.url) - 1] = '\0';
	v.warning[sizeof(v.warning) - 1] = '\0';
	if (*v.warning && !*w->sum->warning)
		(void)snprintf(w->sum->warning, sizeof(w->sum->warning), "%s: %s", s->place,
			       v.warning);
	w->mute[s - w->d->senders] = v.result == DELIVERY_LATER && v.unasked;
	r = deliver_record(w->d, &a, &v, w->sum, e);
	outbox_work_done(&a.work);
	return r;
}

static bool deliver_is_over(const struct publish_deliver *d)
{
	return d->deadline_us && clock_mono_us() >= d->deadline_us;
}

static bool deliver_is_mute(const struct deliver_round *w, const struct publish_sender *s)
{
	return w->mute[s - w->d->senders];
}

/* If a destination's refused token was replaced, its backoff ends. */
static int deliver_check_tokens(struct deliver_round *w, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->d->n_senders; i++) {
		const struct publish_sender *s = &w->d->senders[i];

		if (s->token && outbox_place_get(w->o, s->place, "token"))
			r = outbox_place_token(w->o, s->place, s->token(s->arg), e);
	}
	return r;
}

/* A sent entry leaves the list, and the entries behind it move up.  New entries of a chain are
 * appended, so one pass reaches every entry once. */
static int deliver_pass(struct deliver_round *w, struct err *e)
{
	struct outbox *o = w->o;
	size_t i = 0;

	while (i < outbox_count(o) && !deliver_is_over(w->d)) {
		const struct outbox_entry *t = outbox_at(o, i);
		const struct publish_sender *s = deliver_sender(w->d, t->place);
		int r = 0;

		if (s && !deliver_is_mute(w, s) && outbox_due(o, t, deliver_now(w->d)))
			r = deliver_one(w, i, s, e);
		if (r < 0 && r != -ENOENT)
			return r;
		if (outbox_at(o, i) == t)
			i++;
	}
	return 0;
}

static uint64_t deliver_due_at(const struct deliver_round *w, const struct outbox_entry *t,
			       const struct publish_sender *s, uint64_t now)
{
	uint64_t at = outbox_due_at(w->o, t);

	if (deliver_is_mute(w, s))
		return now + TOKEN_CHECK_S;
	if (outbox_place_get(w->o, t->place, "token") && at > now + TOKEN_CHECK_S)
		return now + TOKEN_CHECK_S;
	return at ? at : now;
}

static void deliver_set_next(struct deliver_round *w)
{
	uint64_t now = deliver_now(w->d), at;

	for (size_t i = 0; i < outbox_count(w->o); i++) {
		const struct outbox_entry *t = outbox_at(w->o, i);
		const struct publish_sender *s = deliver_sender(w->d, t->place);

		w->sum->left += s != NULL;
		if (!t->head || !s)
			continue;
		at = deliver_due_at(w, t, s, now);
		if (!w->sum->next || at < w->sum->next)
			w->sum->next = at;
	}
}

int publish_deliver(const struct publish_deliver *d, struct outbox *o,
		    struct publish_delivered *ret, struct err *e)
{
	_autofree_ bool *mute = xcalloc(d->n_senders + 1, sizeof(*mute));
	struct deliver_round w = {d, o, ret, mute};
	int r;

	*ret = (struct publish_delivered){0};
	r = outbox_lock(o, e);
	if (r == 0)
		r = deliver_check_tokens(&w, e);
	if (r == 0)
		r = deliver_pass(&w, e);
	deliver_set_next(&w);
	return r < 0 ? err_wrap(e, "deliver") : 0;
}

/* --- learned facts -------------------------------------------------------------- */

struct learning {
	int (*fn)(void *arg, const struct publish_learned *l, struct err *e);
	void *arg;
};

static int learned_pass(void *arg, const json_t *record, struct err *e)
{
	const struct learning *g = arg;
	const struct publish_learned l = {
	    .chain = json_get_text(record, "chain"),
	    .signature = json_get_text(record, "subject"),
	    .url = outbox_chain_url(record),
	    .ignored = json_is_true(json_object_get(record, "ignored")),
	    .labelled = json_get_u64(record, "labelled"),
	};

	if (l.chain[strlen(PUBLISH_GITHUB "-")] == '.')
		return 0; /* not about a crash */
	return *l.signature && (*l.url || l.ignored) ? g->fn(g->arg, &l, e) : 0;
}

int publish_learned(struct outbox *o,
		    int (*fn)(void *arg, const struct publish_learned *l, struct err *e), void *arg,
		    struct err *e)
{
	struct learning g = {fn, arg};

	return outbox_each_chain(o, PUBLISH_GITHUB "-", learned_pass, &g, e);
}

int publish_forget_ignored(struct outbox *o, const char *chain, struct err *e)
{
	return outbox_chain_forget_ignored(o, chain, e);
}
