/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/publisher.h"

#include "base/clock.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/task.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* After a round that could not be made. */
#define AGAIN_US (60 * USEC_PER_SEC)
/* A child that is in the middle of a request. */
#define FINISH_US (30 * USEC_PER_SEC)

struct publisher {
	struct loop *loop;
	struct tell t;
	struct ledger *ledger;
	struct task *task; /* the round that is being made */
	struct stat seen;  /* of the ledger's file when it began */
	uint64_t due_us;   /* clock_real_us(): of the next round; 0: when the ledger changes */
};

static uint64_t real_s(void)
{
	return clock_real_us() / USEC_PER_SEC;
}

static int round_in_child(void *arg, struct buf *out, struct err *e)
{
	return tell_round(arg, out, e);
}

int publisher_new(struct loop *loop, const struct tell *t, struct ledger *l, struct publisher **ret,
		  struct err *e)
{
	struct publisher *p;

	*ret = NULL;
	if (!tell_wanted(t->config))
		return 0;
	p = sys_calloc(1, sizeof(*p));
	if (!p)
		return err_sys(e, "allocate the publisher");
	p->loop = loop;
	p->t = *t;
	p->ledger = l;
	p->due_us = 1; /* what an earlier run could not send */
	*ret = p;
	return 0;
}

/* Replaced whole at each change, so that a new one has another inode or another time. */
static bool ledger_changed(const struct publisher *p, struct stat *now)
{
	if (fstatat(p->t.state->dirfd, "known_crashes.json", now, 0) < 0)
		return false;
	return now->st_ino != p->seen.st_ino || now->st_size != p->seen.st_size ||
	       now->st_mtim.tv_sec != p->seen.st_mtim.tv_sec ||
	       now->st_mtim.tv_nsec != p->seen.st_mtim.tv_nsec;
}

static void on_round(void *arg, struct slice result, const char *failed)
{
	struct publisher *p = arg;
	struct told told;
	struct err e;

	p->task = NULL;
	if (failed || tell_read(result, p->ledger, &told, &e) < 0) {
		LOG(LOG_WARN, "publish", f_str("failed", failed ? failed : e.msg));
		p->due_us = clock_real_us() + AGAIN_US;
		return;
	}
	p->due_us = told.next * USEC_PER_SEC;
	LOG(LOG_INFO, "publish", f_int("done", (int64_t)told.done),
	    f_int("refused", (int64_t)told.refused), f_int("left", (int64_t)told.left),
	    f_str("warning", told.warning));
}

void publisher_second(struct publisher *p)
{
	uint64_t now = clock_real_us();
	struct stat st = {0};
	struct err e;
	bool changed;

	if (!p || p->task)
		return;
	changed = ledger_changed(p, &st);
	if (!changed && (p->due_us == 0 || now < p->due_us))
		return;
	if (changed)
		p->seen = st;
	p->due_us = 0;
	if (task_start(p->loop, round_in_child, &p->t, on_round, p, &p->task, &e) < 0) {
		LOG(LOG_WARN, "publish", f_str("failed", e.msg));
		p->due_us = now + AGAIN_US;
	}
}

void publisher_free(struct publisher *p)
{
	if (!p)
		return;
	if (p->task)
		task_finish(p->task, clock_mono_us() + FINISH_US);
	free(p);
}

/* --- after the run --------------------------------------------------------------- */

struct last {
	struct loop *loop;
	struct ledger *ledger;
	struct task *task;
	struct told told;
	char failed[sizeof(((struct err *)NULL)->msg)];
};

static void on_last(void *arg, struct slice result, const char *failed)
{
	struct last *l = arg;
	struct err e;

	l->task = NULL;
	if (failed)
		(void)snprintf(l->failed, sizeof(l->failed), "%s", failed);
	else if (tell_read(result, l->ledger, &l->told, &e) < 0)
		(void)snprintf(l->failed, sizeof(l->failed), "%s", e.msg);
	loop_stop(l->loop);
}

static void on_enough(void *arg)
{
	loop_stop(arg);
}

static void on_signal(void *arg, int signo)
{
	(void)signo;
	loop_stop(arg);
}

/* A loop of its own: the run's is over. */
static int wait_for_last(struct last *l, struct tell *t, struct err *e)
{
	struct source *late = NULL, *ends[2] = {NULL, NULL};
	int r = task_start(l->loop, round_in_child, t, on_last, l, &l->task, e);

	if (r < 0)
		return r;
	r = loop_add_timer(l->loop, clock_mono_us() + t->send_us + FINISH_US, on_enough, l->loop,
			   &late, e);
	if (r == 0)
		r = loop_add_signal(l->loop, SIGINT, on_signal, l->loop, &ends[0], e);
	if (r == 0)
		r = loop_add_signal(l->loop, SIGTERM, on_signal, l->loop, &ends[1], e);
	if (r == 0)
		r = loop_run(l->loop, e);
	if (l->task)
		task_finish(l->task, 0);
	source_remove(late);
	source_remove(ends[0]);
	source_remove(ends[1]);
	return r;
}

static void say(const struct last *l)
{
	char text[TELL_TEXT], shown[ESCAPE_MAX];

	if (*l->told.warning)
		warn("%s", l->told.warning);
	if (*tell_alarm_text(&l->told.alarm, real_s(), text))
		warn("%s (fuzzcell outbox list)", text);
	else if (l->told.left)
		printf("%zu report(s) wait in the outbox and will be sent later%s%s\n",
		       l->told.left, *l->told.failed ? ": " : "", escape(l->told.failed, shown));
	if (l->told.held)
		printf("%zu crash(es) get their issue another day (github.new_per_day)\n",
		       l->told.held);
}

void publisher_last(const struct tell *t, struct ledger *l)
{
	struct last last = {.ledger = l};
	struct tell round = *t;
	struct err e;
	int r;

	if (!tell_wanted(t->config))
		return;
	r = loop_new(&last.loop, &e);
	if (r == 0)
		r = wait_for_last(&last, &round, &e);
	loop_free(last.loop);
	if (r < 0 || *last.failed)
		warn("what was found could not be told: %s", r < 0 ? e.msg : last.failed);
	else
		say(&last);
}
