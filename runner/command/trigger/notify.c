/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/notify.h"
#include "base/memory.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "runner/command/trigger/trigger.h"
#include "runner/publish/notifier.h"

#include <stdio.h>
#include <stdlib.h>

/* A run notifies of what it finds.  The trigger sends what waits in the outbox between two runs,
 * and notifies of runs that died. */

#define SEND_US (60 * USEC_PER_SEC)

static struct notify notify_of(const struct trigger_repo *r)
{
	struct notify t = common_notify(&r->common, r->state);

	t.send_us = SEND_US;
	return t;
}

static int notify_open(struct triggers *t, struct trigger_repo *r, struct err *e)
{
	const struct notify n = notify_of(r);
	int rc = notifier_new(t->loop, &n, NULL, &r->notifier, e);

	if (rc == 0)
		notifier_hold(r->notifier, r->runs);
	return rc;
}

int trigger_notify_begin(struct triggers *t, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->n; i++)
		r = notify_open(t, &t->v[i], e);
	return r;
}

void trigger_notify_again(struct triggers *t, struct trigger_repo *r)
{
	struct err e;

	notifier_free(r->notifier);
	r->notifier = NULL;
	if (notify_open(t, r, &e) < 0)
		(void)fail(EXIT_INTERNAL, "%s", e.msg);
}

void trigger_notify_died(const struct trigger_repo *r, const char *why)
{
	_autobuf_ struct buf result = BUF_INIT(16 << 20);
	_autofree_ char *run =
	    xasprintf("died-%llu", (unsigned long long)(clock_real_us() / USEC_PER_SEC));
	_autofree_ char *text = xasprintf("a run died: %s; the next tick tries again", why);
	struct publish_note n = {
	    .kind = PUBLISH_RUN_FAILED, .run = run, .commit = r->commit, .text = text};
	struct notify t = notify_of(r);
	struct err e;

	if (!notify_is_wanted(t.config))
		return;
	t.notes = &n;
	t.n_notes = 1;
	t.send_us = 0; /* the notifier sends it */
	if (notify_round(&t, &result, &e) < 0)
		(void)fail(EXIT_INTERNAL, "%s", e.msg);
	notifier_wake(r->notifier);
}

void trigger_notify_end(struct triggers *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct trigger_repo *r = &t->v[i];
		struct notify n = notify_of(r);
		bool last = r->notifier && !t->forever && !r->told;

		notifier_free(r->notifier);
		r->notifier = NULL;
		if (last)
			common_notify_last(&n, NULL);
	}
}
