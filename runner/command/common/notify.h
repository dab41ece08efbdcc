/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_NOTIFY_H
#define RUNNER_COMMAND_COMMON_NOTIFY_H

#include "runner/command/command.h"
#include "runner/publish/notify.h"

/* Makes the parameters that every command passes to a round of notifications: the configuration,
 * the state, and the command line. Both arguments are borrowed. */
struct notify common_notify(const struct common *c, const struct state *s);

/* Runs the last round of notifications of a run. Prints its result, also on failure. */
void common_notify_last(const struct notify *t, struct ledger *l);

#endif
