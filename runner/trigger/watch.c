/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/trigger/watch.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

/* A start needs a poll of the remote that is younger than this, successful or not. */
#define FRESH (60 * USEC_PER_SEC)
/* After this many consecutive failed polls, watch_rests() no longer waits for another retry. */
enum { TRIES = 4 };

/* Copies text that goes into the JSON record: ASCII only. */
static void watch_copy_text(char *to, size_t size, const char *from)
{
	(void)snprintf(to, size, "%s", from); /* for users: may be cut */
	for (char *p = to; *p; p++)
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
}

void watch_init(struct watch *w, const struct watch_opts *o, const struct trigger_record *rec,
		const char *done, const struct watch_holder *h, const struct moment *now)
{
	*w = (struct watch){.o = *o, .rec = *rec};
	watch_copy_text(w->done, sizeof(w->done), done);
	if (rec->outcome != OUTCOME_RUNNING)
		return;
	if (h->alive)
		w->at = WATCH_ORPHAN;
	else
		watch_ended(w, now, END_UNSEEN, "its end was not observed", done);
}

/* --- what to do ----------------------------------------------------------------- */

static bool watch_runs(const struct watch *w)
{
	return w->at == WATCH_RUNNING || w->at == WATCH_ORPHAN;
}

static uint64_t watch_poll_left(const struct watch *w, const struct moment *now)
{
	uint64_t age = since_age(&w->polled, now);

	return !w->polled.known || age >= w->poll_in_us ? 0 : w->poll_in_us - age;
}

static uint64_t watch_put_off_left(const struct watch *w, const struct moment *now)
{
	uint64_t age = since_age(&w->put_off, now);

	return !w->put_off.known || age >= w->put_off_us ? 0 : w->put_off_us - age;
}

void watch_decide(const struct watch *w, const struct moment *now, const struct watch_holder *h,
		  struct due *ret)
{
	const struct trigger_record *r = &w->rec;
	bool done = r->outcome == OUTCOME_DONE && strcmp(r->commit, r->head) == 0;
	const struct due_input in = {
	    .interval_us = w->o.interval_us,
	    .head = w->rec.head,
	    .done = done ? r->head : w->done, /* a user may have fuzzed another commit since */
	    .started = w->rec.start.known,
	    .start_age_us = since_age(&w->rec.start, now),
	    .running = watch_runs(w) ? RUNNING_OURS
		       : h->locked   ? RUNNING_OTHERS
				     : RUNNING_NONE,
	    .commit = w->rec.commit,
	    .failed = w->rec.failed,
	    .failures = w->rec.failures,
	    .forced = w->forced,
	};

	due_decide(&in, ret);
}

static enum watch_do watch_begin_stop(struct watch *w)
{
	w->stopping = true;
	return WATCH_STOP;
}

static enum watch_do watch_begin_poll(struct watch *w)
{
	w->polling = true;
	return WATCH_POLL;
}

static enum watch_do watch_begin_start(struct watch *w, const struct moment *now)
{
	if (since_age(&w->polled, now) >= FRESH)
		return watch_begin_poll(w);
	if (*w->blocked)
		return WATCH_WAIT;
	w->at = WATCH_UPDATING;
	return WATCH_UPDATE;
}

static uint64_t watch_sooner(uint64_t a, uint64_t b)
{
	return b > 0 && b < a ? b : a;
}

void watch_next(struct watch *w, const struct moment *now, const struct watch_holder *h,
		struct watch_act *ret)
{
	uint64_t off = watch_put_off_left(w, now);

	*ret = (struct watch_act){.what = WATCH_WAIT, .wait_us = watch_poll_left(w, now)};
	watch_decide(w, now, h, &ret->due);
	if (w->asleep) {
		if (watch_runs(w) && !w->stopping)
			ret->what = watch_begin_stop(w);
		return;
	}
	if (w->polling || w->at == WATCH_UPDATING)
		return;
	if (ret->wait_us == 0) {
		ret->what = watch_begin_poll(w);
		return;
	}
	if (ret->due.what == DUE_STOP && !w->stopping)
		ret->what = watch_begin_stop(w);
	else if (ret->due.what == DUE_START && off == 0)
		ret->what = watch_begin_start(w, now);
	else if (ret->due.what == DUE_START)
		ret->wait_us = watch_sooner(ret->wait_us, off);
	else if (ret->due.what == DUE_WAIT)
		ret->wait_us = watch_sooner(ret->wait_us, ret->due.wait_us);
}

bool watch_rests(const struct watch *w)
{
	return w->at == WATCH_IDLE && !w->polling && (w->tries == 0 || w->tries >= TRIES);
}

/* --- what happened -------------------------------------------------------------- */

static void watch_poll_failed(struct watch *w, const struct moment *now, const struct checkout *c)
{
	struct trigger_record *r = &w->rec;
	uint64_t wait = w->o.retry_us;

	if (!r->fetch_failing.known)
		r->fetch_failing = since_now(now);
	r->fetch_failures += r->fetch_failures < UINT32_MAX;
	watch_copy_text(r->fetch_error, sizeof(r->fetch_error), c->why);
	if (c->kind == CHECKOUT_BROKEN) { /* a retry would not help */
		watch_copy_text(w->blocked, sizeof(w->blocked), c->why);
		w->tries = TRIES;
		return;
	}
	for (unsigned i = 0; i < w->tries && wait < w->o.tick_us; i++)
		wait *= 2;
	w->tries++;
	if (wait < w->poll_in_us)
		w->poll_in_us = wait;
}

static void watch_poll_worked(struct watch *w)
{
	w->tries = 0;
	w->rec.fetch_failures = 0;
	w->rec.fetch_failing = (struct since){0};
	*w->rec.fetch_error = '\0';
}

void watch_polled(struct watch *w, const struct moment *now, const struct checkout *c)
{
	w->polling = false;
	w->polled = since_now(now);
	w->poll_in_us = w->o.tick_us;
	watch_copy_text(w->blocked, sizeof(w->blocked), c->blocked);
	if (*c->head && strcmp(c->head, w->rec.head) != 0) {
		memcpy(w->rec.head, c->head, sizeof(w->rec.head));
		w->rec.head_seen = since_now(now);
	}
	if (c->kind == CHECKOUT_OK)
		watch_poll_worked(w);
	else
		watch_poll_failed(w, now, c);
}

void watch_put_off(struct watch *w, const struct moment *now, uint64_t wait_us)
{
	w->at = WATCH_IDLE;
	w->put_off = since_now(now);
	w->put_off_us = wait_us;
}

bool watch_updated(struct watch *w, const struct moment *now, const struct checkout *c)
{
	if (w->asleep) {
		w->at = WATCH_IDLE;
		return false;
	}
	if (c->kind == CHECKOUT_OK && !*c->blocked)
		return true;
	watch_copy_text(w->blocked, sizeof(w->blocked), *c->blocked ? c->blocked : c->why);
	watch_put_off(w, now, w->o.tick_us);
	return false;
}

void watch_starts(struct watch *w, const struct moment *now)
{
	struct trigger_record *r = &w->rec;

	w->before = r->start;
	w->again = strcmp(w->done, r->head) == 0;
	w->at = WATCH_RUNNING;
	w->forced = w->stopping = false;
	w->put_off = r->busy = (struct since){0};
	r->start = since_now(now);
	memcpy(r->commit, r->head, sizeof(r->commit));
	r->outcome = OUTCOME_RUNNING;
	*r->why = '\0';
	r->pid = 0;
	r->pid_start = 0;
}

void watch_started(struct watch *w, pid_t pid, uint64_t pid_start)
{
	w->rec.pid = pid;
	w->rec.pid_start = pid_start;
}

static void watch_count_failure(struct trigger_record *r)
{
	if (strcmp(r->failed, r->commit) != 0)
		r->failures = 0;
	memcpy(r->failed, r->commit, sizeof(r->failed));
	r->failures += r->failures < UINT32_MAX;
}

/* The observed end counts first.  That the commit is done may be the result of an earlier run. */
static enum outcome watch_judge(const struct watch *w, enum watch_end end)
{
	bool done = *w->rec.commit && strcmp(w->done, w->rec.commit) == 0;

	if (end == END_FAILED && !w->stopping)
		return OUTCOME_FAILED;
	if (done && end != END_REFUSED && !(w->again && w->stopping))
		return OUTCOME_DONE;
	return end == END_UNSEEN && !w->stopping ? OUTCOME_FAILED : OUTCOME_STOPPED;
}

void watch_ended(struct watch *w, const struct moment *now, enum watch_end end, const char *why,
		 const char *done)
{
	struct trigger_record *r = &w->rec;

	watch_copy_text(w->done, sizeof(w->done), done);
	watch_copy_text(r->why, sizeof(r->why), why);
	r->pid = 0;
	r->outcome = watch_judge(w, end);
	if (r->outcome == OUTCOME_DONE) {
		r->failures = 0;
		*r->failed = '\0';
	} else if (r->outcome == OUTCOME_FAILED) {
		watch_count_failure(r);
	}
	w->at = WATCH_IDLE;
	w->stopping = false;
	if (end == END_REFUSED) { /* restore the time of the previous start */
		r->start = w->before;
		watch_put_off(w, now, FRESH);
	}
}
