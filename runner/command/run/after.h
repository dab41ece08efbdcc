/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_RUN_AFTER_H
#define RUNNER_COMMAND_RUN_AFTER_H

#include "runner/command/command.h"
#include "runner/config/config.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/state/state.h"
#include "runner/status/row.h"
#include "runner/targets/discover.h"

/* When a run is over: which targets it really fuzzed is noted, and the world is told of
 * what it found, of what went wrong with it, and of targets that have been silent for too
 * long.  What goes wrong here is said, and is no failure of the run. */
struct run_over {
	const struct common *common;
	struct state *state;
	const struct target_list *targets;
	struct ledger *ledger; /* saved before; gets what is learned */
	const char *run, *commit;
	const struct run_view *view;
	int status; /* what fuzzcell will exit with, as things are */
};
void run_after(const struct run_over *o);

/* A build failed so that no run began: told once for each commit. */
void run_not_built(const struct common *c, struct state *s, const char *commit);

#endif
