/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/notifier.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/task.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The wait after a failed round. */
#define AGAIN_US (60 * USEC_PER_SEC)
/* The time that a child gets to finish its request. */
#define FINISH_US (30 * USEC_PER_SEC)
/* The ledger often changes several times in a row.  The wait also lets the first statistics of a
 * run arrive, which an issue shows. */
#define SETTLE_US (2 * USEC_PER_SEC)
/* While the machine sleeps, the timer's clock stops, but the outbox's clock goes on.  So the time
 * is compared again at least this often. */
#define TIMER_MAX_US (600 * USEC_PER_SEC)

struct notifier {
	struct loop *loop;
	struct notify t;
	struct notifier_ledger to;
	struct source *ledger_watch; /* watches for a new file of the ledger */
	struct source *timer;	     /* fires at due_us */
	struct task *task;	     /* the running round */
	bool held;
	uint64_t due_us; /* clock_real_us() of the next round; 0: when the ledger changes */
};

static int notifier_round(void *arg, struct buf *out, struct err *e)
{
	return notify_round(arg, out, e);
}

static void notifier_ask(struct notifier *n, uint64_t at_us);

static void notifier_on_round(void *arg, struct slice result, const char *failed)
{
	struct notifier *n = arg;
	uint64_t now = clock_real_us(), next;
	struct notify_result got;
	struct err e;

	n->task = NULL;
	if (failed || notify_read(result, n->to.ledger, &got, &e) < 0) {
		LOG(LOG_WARN, "publish", f_str("failed", failed ? failed : e.msg));
		notifier_ask(n, now + AGAIN_US);
		return;
	}
	if (got.learned && n->to.learned)
		n->to.learned(n->to.arg);
	LOG(LOG_INFO, "publish", f_int("done", (int64_t)got.done),
	    f_int("refused", (int64_t)got.refused), f_int("left", (int64_t)got.left),
	    f_str("warning", got.warning));
	next = got.next * USEC_PER_SEC;
	if (!n->ledger_watch && (!next || next > now + AGAIN_US))
		next = now + AGAIN_US;
	notifier_ask(n, next && next < now + SETTLE_US ? now + SETTLE_US : next);
}

/* Begins the round that is due, or arms the timer for it. */
static void notifier_next(struct notifier *n)
{
	uint64_t now = clock_real_us(), wait;
	struct err e;

	if (n->task || n->held || !n->due_us)
		return;
	if (n->due_us <= now) {
		n->due_us = 0;
		if (task_start(n->loop, notifier_round, &n->t, notifier_on_round, n, &n->task,
			       &e) == 0)
			return;
		LOG(LOG_WARN, "publish", f_str("failed", e.msg));
		n->due_us = now + AGAIN_US;
	}
	wait = n->due_us - now;
	if (loop_set_timer(n->timer, clock_mono_us() + (wait < TIMER_MAX_US ? wait : TIMER_MAX_US),
			   &e) < 0)
		LOG(LOG_WARN, "publish", f_str("failed", e.msg));
}

/* at_us: clock_real_us() of a round that is wanted; 0: none. */
static void notifier_ask(struct notifier *n, uint64_t at_us)
{
	if (at_us && (!n->due_us || at_us < n->due_us))
		n->due_us = at_us;
	notifier_next(n);
}

static void notifier_on_due(void *arg)
{
	notifier_next(arg);
}

/* The ledger's file is replaced whole at each change. */
static void notifier_on_entry(void *arg, const char *name)
{
	struct notifier *n = arg;

	if (!*name || strcmp(name, LEDGER_NAME) == 0)
		notifier_ask(n, clock_real_us() + SETTLE_US);
}

int notifier_new(struct loop *loop, const struct notify *t, const struct notifier_ledger *l,
		 struct notifier **ret, struct err *e)
{
	struct notifier *n;
	int r;

	*ret = NULL;
	if (!notify_is_wanted(t->config))
		return 0;
	n = xcalloc(1, sizeof(*n));
	n->loop = loop;
	n->t = *t;
	if (l)
		n->to = *l;
	n->due_us = clock_real_us(); /* what an earlier run did not send */
	/* No inotify instance may be left: then a round begins each AGAIN_US. */
	if (loop_add_dir(loop, t->state->dirfd, notifier_on_entry, n, &n->ledger_watch, e) < 0)
		LOG(LOG_WARN, "publish", f_str("failed", e->msg));
	r = loop_add_timer(loop, clock_mono_us(), notifier_on_due, n, &n->timer, e);
	if (r < 0)
		notifier_free(n);
	else
		*ret = n;
	return r;
}

void notifier_hold(struct notifier *n, bool held)
{
	if (!n)
		return;
	n->held = held;
	notifier_next(n);
}

void notifier_wake(struct notifier *n)
{
	if (n)
		notifier_ask(n, clock_real_us());
}

void notifier_free(struct notifier *n)
{
	if (!n)
		return;
	if (n->task)
		task_finish(n->task, clock_mono_us() + FINISH_US);
	source_remove(n->ledger_watch);
	source_remove(n->timer);
	free(n);
}

/* --- after the run -------------------------------------------------------------- */

struct notifier_last_round {
	struct loop *loop;
	struct ledger *ledger;
	struct task *task;
	struct notify_result *result;
	char failed[sizeof(((struct err *)NULL)->msg)];
};

static void last_on_round(void *arg, struct slice result, const char *failed)
{
	struct notifier_last_round *l = arg;
	struct err e;

	l->task = NULL;
	if (failed)
		(void)snprintf(l->failed, sizeof(l->failed), "%s", failed);
	else if (notify_read(result, l->ledger, l->result, &e) < 0)
		(void)snprintf(l->failed, sizeof(l->failed), "%s", e.msg);
	loop_stop(l->loop);
}

static void last_on_deadline(void *arg)
{
	loop_stop(arg);
}

static void last_on_signal(void *arg, int signo)
{
	(void)signo;
	loop_stop(arg);
}

static int last_wait(struct notifier_last_round *l, struct notify *t, struct err *e)
{
	struct source *late = NULL, *ends[2] = {NULL, NULL};
	int r = task_start(l->loop, notifier_round, t, last_on_round, l, &l->task, e);

	if (r < 0)
		return r;
	r = loop_add_timer(l->loop, clock_mono_us() + t->send_us + FINISH_US, last_on_deadline,
			   l->loop, &late, e);
	if (r == 0)
		r = loop_add_signal(l->loop, SIGINT, last_on_signal, l->loop, &ends[0], e);
	if (r == 0)
		r = loop_add_signal(l->loop, SIGTERM, last_on_signal, l->loop, &ends[1], e);
	if (r == 0)
		r = loop_run(l->loop, e);
	if (l->task)
		task_finish(l->task, 0);
	source_remove(late);
	source_remove(ends[0]);
	source_remove(ends[1]);
	return r;
}

/* Uses its own loop, because the run's has ended. */
int notifier_last(const struct notify *t, struct ledger *l, struct notify_result *ret,
		  struct err *e)
{
	struct notifier_last_round last = {.ledger = l, .result = ret};
	struct notify round = *t;
	int r;

	*ret = (struct notify_result){0};
	if (!notify_is_wanted(t->config))
		return 0;
	r = loop_new(&last.loop, e);
	if (r == 0)
		r = last_wait(&last, &round, e);
	loop_free(last.loop);
	if (r == 0 && *last.failed)
		r = err_set(e, EIO, "%s", last.failed);
	return r;
}
