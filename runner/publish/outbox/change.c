/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of an entry: attempt, success, delay, drop. */
#include "base/sys.h"
#include "runner/publish/outbox/backoff.h"
#include "runner/publish/outbox/internal.h"

#include <errno.h>
#include <string.h>

void outbox_work_done(struct outbox_work *w)
{
	json_decref(w->event);
	json_decref(w->progress);
	*w = (struct outbox_work){0};
}

/* Reads the entry's file again, because the copy in memory may be out of date. */
static int load_now(struct outbox *o, struct outbox_entry *t, struct outbox_work *ret,
		    struct err *e)
{
	_autojson_ json_t *record = NULL;
	struct outbox_full f = {0};
	int r = outbox_chain(o, t->chain, &record, e);

	if (r < 0)
		return r;
	if (outbox_chain_told(record, t->id)) { /* killed before the file was removed */
		r = outbox_unlink(o, t->id, e);
		return r < 0 ? r : err_set(e, ENOENT, "'%s' was told", t->id);
	}
	r = outbox_load(o, t->id, &f, e);
	if (r < 0)
		return r;
	t->next_try = f.entry->next_try;
	*ret = (struct outbox_work){t, take_ptr(&f.event), take_ptr(&f.progress)};
	outbox_full_done(&f);
	return 0;
}

int outbox_begin(struct outbox *o, size_t i, struct outbox_work *ret, struct err *e)
{
	struct outbox_entry *t = o->v[i];
	int r = outbox_hold(o, e);

	if (r < 0)
		return r;
	r = load_now(o, t, ret, e);
	outbox_release(o);
	if (r == -ENOENT)
		outbox_forget(o, t);
	return r;
}

/* The caller holds the lock of outbox_hold(). */
static int rewrite(struct outbox *o, const struct outbox_work *w, struct err *e)
{
	if (!outbox_exists(o, w->entry->id))
		return err_set(e, ENOENT, "'%s' was dropped", w->entry->id);
	return outbox_write(o, w->entry, w->event, w->progress, e);
}

int outbox_progress(struct outbox *o, const struct outbox_work *w, struct err *e)
{
	int r = outbox_hold(o, e);

	if (r < 0)
		return r;
	r = rewrite(o, w, e);
	outbox_release(o);
	return r;
}

static const char *how_of(const struct outbox_outcome *c)
{
	if (c->ignored)
		return "ignored";
	return c->deleted ? "deleted" : "told";
}

static int calm_place(struct outbox *o, const char *place, struct err *e)
{
	const struct outbox_number calm[] = {
	    {"until", 0}, {"asked", 0}, {"failed", 0}, {"token", 0}};

	return outbox_place_set(o, place, calm, 4, e);
}

int outbox_place_token(struct outbox *o, const char *place, uint64_t token, struct err *e)
{
	uint64_t refused = outbox_place_get(o, place, "token");

	return refused && token && token != refused ? calm_place(o, place, e) : 0;
}

int outbox_told(struct outbox *o, struct outbox_work *w, const struct outbox_outcome *c,
		struct err *e)
{
	const char *place = w->entry->place;
	int r = 0;

	if (outbox_place_get(o, place, "failed") || outbox_place_get(o, place, "until"))
		r = calm_place(o, place, e);
	if (r == 0)
		r = outbox_hold(o, e);
	if (r < 0)
		return r;
	r = outbox_record(o, w->entry, w->event, how_of(c), c, e);
	if (r == 0)
		r = outbox_unlink(o, w->entry->id, e);
	outbox_release(o);
	if (r == 0)
		outbox_forget(o, w->entry);
	return r;
}

/* Starts or extends the backoff of the whole destination. */
static int put_off_place(struct outbox *o, const char *place, const struct outbox_outcome *c,
			 struct err *e)
{
	uint64_t failed = outbox_place_get(o, place, "failed") + 1;
	const struct outbox_number v[] = {
	    {"until", c->now + backoff_wait(failed, c->wait_s, c->retry_max_s, &o->seed)},
	    {"asked", c->now},
	    {"failed", failed},
	    {"token", c->refused_token},
	};

	return outbox_place_set(o, place, v, 4, e);
}

/* If a user dropped the entry meanwhile, removes it from the list. */
static int wait_on(struct outbox *o, struct outbox_work *w, struct err *e)
{
	int r = outbox_progress(o, w, e);

	if (r != -ENOENT)
		return r;
	outbox_forget(o, w->entry);
	return 0;
}

int outbox_unasked(struct outbox *o, struct outbox_work *w, const char *why, struct err *e)
{
	outbox_line(w->entry->why, sizeof(w->entry->why), why);
	return wait_on(o, w, e);
}

int outbox_later(struct outbox *o, struct outbox_work *w, const struct outbox_outcome *c,
		 struct err *e)
{
	struct outbox_entry *t = w->entry;
	uint64_t most = c->refused ? BACKOFF_DAY : c->retry_max_s;
	int r = 0;

	t->tries++;
	t->last_try = c->now;
	t->refused = c->refused;
	if (t->created > c->now)
		t->created = c->now; /* the clock was ahead */
	/* A refusal rarely goes away by itself, so the entry is tried daily.  A refused token is
	 * a matter of the destination, not of the entry. */
	if (!c->refused_token)
		t->next_try =
		    c->now +
		    (c->refused ? BACKOFF_DAY : backoff_wait(t->tries, c->wait_s, most, &o->seed));
	outbox_line(t->why, sizeof(t->why), c->why);
	if (c->whole_place)
		r = put_off_place(o, t->place, c, e);
	return r == 0 ? wait_on(o, w, e) : r;
}

int outbox_retry(struct outbox *o, size_t i, struct err *e)
{
	const struct outbox_number calm[] = {{"until", 0}, {"asked", 0}};
	struct outbox_work w = {0};
	int r = outbox_begin(o, i, &w, e);

	if (r < 0)
		return r;
	w.entry->next_try = 0;
	r = outbox_progress(o, &w, e);
	if (r == 0 && outbox_place_get(o, w.entry->place, "until"))
		r = outbox_place_set(o, w.entry->place, calm, 2, e);
	outbox_work_done(&w);
	return r;
}

int outbox_drop(struct outbox *o, size_t i, uint64_t now, struct err *e)
{
	const struct outbox_outcome c = {.now = now};
	struct outbox_entry *t = o->v[i];
	int r = outbox_hold(o, e);

	if (r < 0)
		return r;
	r = outbox_record(o, t, NULL, "dropped", &c, e);
	if (r == 0)
		r = outbox_unlink(o, t->id, e);
	outbox_release(o);
	if (r == 0)
		outbox_forget(o, t);
	return r;
}
