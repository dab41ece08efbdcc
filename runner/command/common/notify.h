/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_NOTIFY_H
#define RUNNER_COMMAND_COMMON_NOTIFY_H

#include "runner/command/command.h"
#include "runner/publish/notify.h"

/* What every command gives to a round of notifications: the configuration, the state, and how it
 * was called.  Both are borrowed. */
struct notify common_notify(const struct common *c, const struct state *s);

/* The last round of a run; prints its result, also when it failed. */
void common_notify_last(const struct notify *t, struct ledger *l);

#endif
