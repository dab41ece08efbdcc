/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_PUBLISHER_H
#define RUNNER_COMMAND_PUBLISHER_H

#include "base/loop.h"
#include "runner/command/tell.h"

/* Tells the world while a run lives: a round (runner/command/tell.h) in a forked child
 * each time that the ledger's file has changed or something in the outbox is due, one at
 * a time.  A crash of the first minute is not told after the last one.
 *
 * Where nobody is to be told, all of it does nothing. */
struct publisher;

/* t: without notes and run, borrowed; l: what was learned is given to it. */
MUST_CHECK int publisher_new(struct loop *loop, const struct tell *t, struct ledger *l,
			     struct publisher **ret, struct err *e);
/* Once a second. */
void publisher_second(struct publisher *p);
/* The run's loop has ended: whoever sends is ended with it, at no loss. */
void publisher_free(struct publisher *p); /* NULL is fine */

/* The last round of a run, with what is to be said of the run itself.  Waits for it, at
 * most send_us and what one answer takes; SIGINT and SIGTERM end the waiting.
 * l (not NULL) is given what was learned; an error, and whoever is not reached, is said. */
void publisher_last(const struct tell *t, struct ledger *l);

#endif
