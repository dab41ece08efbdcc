/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_NOTIFIER_H
#define RUNNER_PUBLISH_NOTIFIER_H

#include "base/loop.h"
#include "runner/publish/notify.h"

/* Sends notifications during a run, in rounds (runner/publish/notify.h).  One round runs at a time,
 * in a forked child.  A round begins at the start, when the ledger's file was replaced, and when an
 * outbox entry is due.  So a crash in a run's first minute is reported in that minute. */
struct notifier;

/* A ledger that receives the learned facts of a round (notify_read()). */
struct notifier_ledger {
	struct ledger *ledger;
	/* Called when *ledger got a fact: saves the ledger soon. */
	void (*learned)(void *arg);
	void *arg;
};

/* t: the parameters of each round.  Leave t->run and t->notes NULL: they are for the round after
 * the run (notifier_last()).  *t and *l are copied, and their pointers are borrowed.  l NULL: no
 * ledger.
 *
 * *ret is NULL when the configuration has no destination.  The functions below accept a NULL
 * notifier. */
MUST_CHECK int notifier_new(struct loop *loop, const struct notify *t,
			    const struct notifier_ledger *l, struct notifier **ret, struct err *e);
/* held true: no further round begins until notifier_hold() with held false.  Entries that become
 * due meanwhile are sent in the next round. */
void notifier_hold(struct notifier *n, bool held);
/* Begins a round soon.  Call it when another part of the program has put an entry into the
 * outbox. */
void notifier_wake(struct notifier *n);
/* Frees the notifier.  Waits up to 30 s for a round in progress, then kills it.  Nothing is lost:
 * unsent entries stay in the outbox. */
void notifier_free(struct notifier *n);

/* The last round, after a run, with the notifications about the run (t->run, t->notes).  Waits
 * until the round ends: at most t->send_us, and 30 s for the answer to the last request.  SIGINT
 * and SIGTERM end the wait.  l: receives the learned facts (NULL: no ledger).  Does nothing when
 * the configuration has no destination. */
MUST_CHECK int notifier_last(const struct notify *t, struct ledger *l, struct notify_result *ret,
			     struct err *e);

#endif
