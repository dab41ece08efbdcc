/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_NOTIFIER_H
#define RUNNER_PUBLISH_NOTIFIER_H

#include "base/loop.h"
#include "runner/publish/notify.h"

/* Sends notifications during a run: one round (runner/publish/notify.h) at a time, each in a
 * forked child.  A round begins when the ledger's file was replaced, or when an outbox entry is
 * due.  So a crash in a run's first minute is reported in that minute. */
struct notifier;

/* t: without notes and run; its pointers are borrowed.  l (NULL: none) receives the results of a
 * round.  *ret is NULL when the configuration has no destination; all functions accept NULL. */
MUST_CHECK int notifier_new(struct loop *loop, const struct notify *t, struct ledger *l,
			    struct notifier **ret, struct err *e);
/* While held, no round begins.  Entries that become due meanwhile belong to the next round. */
void notifier_hold(struct notifier *n, bool held);
/* Another part of the program has put something into the outbox. */
void notifier_wake(struct notifier *n);
/* Ends a running round.  Nothing is lost: unsent entries stay in the outbox. */
void notifier_free(struct notifier *n);

/* The last round of a run, with the notifications about the run itself.  Waits for the round, at
 * most t->send_us and the time of one answer.  SIGINT and SIGTERM end the wait.  Does nothing
 * when the configuration has no destination. */
MUST_CHECK int notifier_last(const struct notify *t, struct ledger *l, struct notify_result *ret,
			     struct err *e);

#endif
