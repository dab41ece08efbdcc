/* SPDX-License-Identifier: Apache-2.0 */
/* What is due goes out, one after the other. */
#include "base/clock.h"
#include "runner/publish/publish_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* One attempt: what delivery.save needs. */
struct attempt {
	struct outbox *o;
	struct outbox_work work;
};

static uint64_t now_of(const struct publish_deliver *d)
{
	return d->now ? d->now(d->arg) : clock_real_us() / USEC_PER_SEC;
}

static int save(void *arg, struct err *e)
{
	struct attempt *a = arg;

	return outbox_progress(a->o, &a->work, e);
}

static const struct publish_sender *sender_of(const struct publish_deliver *d, const char *place)
{
	for (size_t i = 0; i < d->n_senders; i++)
		if (strcmp(d->senders[i].place, place) == 0)
			return &d->senders[i];
	return NULL;
}

static int note(const struct publish_deliver *d, struct attempt *a, const struct delivery *v,
		struct publish_delivered *sum, struct err *e)
{
	const struct outbox_outcome c = {
	    .now = now_of(d),
	    .url = v->url,
	    .ignored = v->ignored,
	    .refused = v->result == DELIVERY_REFUSED,
	    .whole_place = v->whole_host,
	    .wait_s = v->wait_s,
	    .why = v->why,
	    .retry_max_s = d->retry_max_s,
	};

	if (v->result == DELIVERY_DONE) {
		sum->done++;
		sum->ignored += v->ignored;
		return outbox_told(a->o, &a->work, &c, e);
	}
	if (v->result == DELIVERY_REFUSED)
		sum->refused++;
	else
		sum->later++;
	return outbox_later(a->o, &a->work, &c, e);
}

/* -ENOENT: it is no entry any more. */
static int attempt(const struct publish_deliver *d, struct outbox *o, size_t i,
		   const struct publish_sender *s, struct publish_delivered *sum, struct err *e)
{
	struct attempt a = {.o = o};
	struct delivery v = {
	    .state_dirfd = d->state_dirfd, .save = save, .arg = &a, .result = DELIVERY_LATER};
	char id[OUTBOX_NAME];
	int r = outbox_begin(o, i, &a.work, e);

	if (r < 0)
		return r;
	/* The work's texts go with its entry, the sender's answer stays. */
	snprintf(id, sizeof(id), "%s", a.work.entry->id);
	v.id = id;
	v.event = a.work.event;
	v.created = a.work.entry->created;
	v.progress = a.work.progress;
	s->deliver(s->arg, &v);
	v.why[sizeof(v.why) - 1] = v.url[sizeof(v.url) - 1] = '\0';
	r = note(d, &a, &v, sum, e);
	outbox_work_done(&a.work);
	return r;
}

static bool is_over(const struct publish_deliver *d)
{
	return d->deadline_us && clock_mono_us() >= d->deadline_us;
}

/* Entries that go out make those behind them move up; what is new in a chain stands
 * behind it, so one pass meets everything once. */
static int pass(const struct publish_deliver *d, struct outbox *o, struct publish_delivered *sum,
		struct err *e)
{
	size_t i = 0;

	while (i < outbox_count(o) && !is_over(d)) {
		const struct outbox_entry *t = outbox_at(o, i);
		const struct publish_sender *s = sender_of(d, t->place);
		int r = 0;

		if (s && outbox_due(o, t, now_of(d)))
			r = attempt(d, o, i, s, sum, e);
		if (r < 0 && r != -ENOENT)
			return r;
		if (outbox_at(o, i) == t)
			i++;
	}
	return 0;
}

static void look_ahead(const struct publish_deliver *d, const struct outbox *o,
		       struct publish_delivered *sum)
{
	sum->left = outbox_count(o);
	for (size_t i = 0; i < outbox_count(o); i++) {
		const struct outbox_entry *t = outbox_at(o, i);
		uint64_t at = outbox_due_at(o, t);

		if (!t->head || !sender_of(d, t->place))
			continue;
		if (!sum->next || at < sum->next)
			sum->next = at ? at : now_of(d);
	}
}

int publish_deliver(const struct publish_deliver *d, struct outbox *o,
		    struct publish_delivered *ret, struct err *e)
{
	int r = outbox_lock(o, e);

	*ret = (struct publish_delivered){0};
	if (r == 0)
		r = pass(d, o, ret, e);
	look_ahead(d, o, ret);
	return r < 0 ? err_wrap(e, "deliver") : 0;
}
