/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/trigger/trigger.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sys.h"
#include "runner/command/publisher.h"

#include <stdio.h>
#include <stdlib.h>

/* Runs tell what they find themselves.  What is left for the trigger: what waits in the
 * outbox between two runs, and runs that could not say a word any more. */

#define LOOK_US (5 * USEC_PER_SEC)
#define SEND_US (60 * USEC_PER_SEC)

static struct tell tell_of(const struct trigger_repo *r)
{
	return (struct tell){.config = r->common.config,
			     .state = r->state,
			     .common = &r->common,
			     .send_us = SEND_US};
}

static int open_publisher(struct triggers *t, struct trigger_repo *r, struct err *e)
{
	const struct tell tell = tell_of(r);

	return publisher_new(t->loop, &tell, NULL, &r->publisher, e);
}

static void on_look(void *arg)
{
	struct triggers *t = arg;
	struct err e;

	for (size_t i = 0; i < t->n; i++)
		if (!t->v[i].runs)
			publisher_second(t->v[i].publisher);
	if (loop_set_timer(t->look, clock_mono_us() + LOOK_US, &e) < 0)
		(void)fail(EXIT_INTERNAL, "%s", e.msg);
}

int trigger_tell_begin(struct triggers *t, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->n; i++)
		r = open_publisher(t, &t->v[i], e);
	return r < 0 ? r
		     : loop_add_timer(t->loop, clock_mono_us() + LOOK_US, on_look, t, &t->look, e);
}

void trigger_tell_again(struct triggers *t, struct trigger_repo *r)
{
	struct err e;

	publisher_free(r->publisher);
	r->publisher = NULL;
	if (open_publisher(t, r, &e) < 0)
		(void)fail(EXIT_INTERNAL, "%s", e.msg);
}

void trigger_tell_died(const struct trigger_repo *r, const char *why)
{
	_autobuf_ struct buf result = BUF_INIT(16 << 20);
	_autofree_ char *run =
	    sys_asprintf("died-%llu", (unsigned long long)(clock_real_us() / USEC_PER_SEC));
	_autofree_ char *text = sys_asprintf("a run died: %s; the next tick tries again", why);
	struct publish_note n = {
	    .kind = PUBLISH_RUN_FAILED, .run = run, .commit = r->commit, .text = text};
	struct tell t = tell_of(r);
	struct err e;

	if (!run || !text || !tell_wanted(t.config))
		return;
	t.notes = &n;
	t.n_notes = 1;
	t.send_us = 0; /* the next look sends it */
	if (tell_round(&t, &result, &e) < 0)
		(void)fail(EXIT_INTERNAL, "%s", e.msg);
}

void trigger_tell_end(struct triggers *t)
{
	source_remove(t->look);
	t->look = NULL;
	for (size_t i = 0; i < t->n; i++) {
		struct trigger_repo *r = &t->v[i];
		struct tell tell = tell_of(r);
		bool last = r->publisher && !t->forever && !r->told;

		publisher_free(r->publisher);
		r->publisher = NULL;
		if (last)
			publisher_last(&tell, NULL);
	}
}
