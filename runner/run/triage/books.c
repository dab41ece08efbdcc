/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/triage/books.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/task.h"

#include <stdio.h>
#include <stdlib.h>

/* The time that a child has to write the ledger when the loop has ended. */
#define FINISH_US (60 * USEC_PER_SEC)

struct waiter {
	books_done_fn *done;
	void *arg;
	struct waiter *next;
};

struct books {
	struct loop *loop;
	struct state *state;
	struct ledger *ledger;
	/* served: wait for the child that writes now.  waiting: their changes came later. */
	struct waiter *served, *waiting;
	struct task *task; /* the child that writes */
	bool writing;
};

static int write_ledger(void *arg, struct buf *out, struct err *e)
{
	const struct books *b = arg;

	(void)out;
	return ledger_save(b->ledger, b->state->dirfd, e);
}

static void books_answer(struct waiter *list, const char *failed)
{
	while (list) {
		struct waiter *w = list;

		list = w->next;
		if (w->done)
			w->done(w->arg, failed);
		free(w);
	}
}

static void on_written(void *arg, struct slice result, const char *failed);

static void books_begin(struct books *b)
{
	struct err e;

	if (b->writing || !b->waiting)
		return;
	b->served = b->waiting;
	b->waiting = NULL;
	b->writing = true;
	if (task_start(b->loop, write_ledger, b, on_written, b, &b->task, &e) < 0)
		on_written(b, SLICE(""), e.msg);
	else
		ledger_given(b->ledger);
}

static void on_written(void *arg, struct slice result, const char *failed)
{
	struct books *b = arg;
	struct waiter *list = b->served;

	(void)result;
	ledger_taken(b->ledger, !failed);
	b->served = NULL;
	b->task = NULL;
	b->writing = false;
	books_answer(list, failed);
	books_begin(b);
}

int books_open(struct loop *l, struct state *s, const char *run, struct books **ret,
	       char warning[300], struct err *e)
{
	struct books *b = xcalloc(1, sizeof(*b));
	int r;

	*b = (struct books){.loop = l, .state = s};
	r = ledger_load(s->dirfd, &b->ledger, e);
	if (r == 0)
		snprintf(warning, 300, "%.299s", ledger_warning(b->ledger));
	if (r == 0 && run)
		ledger_next_run(b->ledger, run);
	/* This sets a damaged file aside once; otherwise each child would do it. */
	if (r == 0)
		r = ledger_save(b->ledger, s->dirfd, e);
	if (r < 0) {
		books_close(b);
		return r;
	}
	*ret = b;
	return 0;
}

void books_finish(struct books *b)
{
	while (b->task)
		task_finish(b->task, clock_mono_us() + FINISH_US);
}

void books_close(struct books *b)
{
	if (!b)
		return;
	books_finish(b);
	ledger_free(b->ledger);
	free(b);
}

struct ledger *books_ledger(struct books *b)
{
	return b->ledger;
}

void books_save(struct books *b, books_done_fn *done, void *arg)
{
	struct waiter *w = xmalloc(sizeof(*w));

	*w = (struct waiter){.done = done, .arg = arg, .next = b->waiting};
	b->waiting = w;
	books_begin(b);
}
