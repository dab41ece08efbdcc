/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_RUN_AFTER_H
#define RUNNER_COMMAND_RUN_AFTER_H

#include "runner/command/command.h"
#include "runner/config/config.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/state/state.h"
#include "runner/status/row.h"
#include "runner/targets/discover.h"

/* Work at the end of a run. Notes which targets were really fuzzed. Notifies of crashes, of
 * problems of the run, and of targets that were not fuzzed for too long. Errors are printed and do
 * not fail the run. */
struct run_over {
	const struct common *common;
	struct state *state;
	const struct target_list *targets;
	struct ledger *ledger; /* saved before; receives the issue data */
	const char *run, *commit;
	const struct run_view *view;
	int status;  /* the exit status so far */
	bool silent; /* no one is notified */
};
void run_after(const struct run_over *o);

/* Notifies of a build that failed so that no run began, once per commit. */
void run_not_built(const struct common *c, struct state *s, const char *commit);

#endif
