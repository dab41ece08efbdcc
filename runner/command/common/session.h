/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_SESSION_H
#define RUNNER_COMMAND_COMMON_SESSION_H

#include "runner/command/command.h"
#include "runner/command/common/machine.h"
#include "runner/run/plan.h"
#include "runner/state/state.h"

/* The common start of commands that run targets or read the state. Starts as {0}; pass options to
 * common_take(&s->common, ...). Call the functions that a command needs, in this order. They print
 * errors and return an exit status. Call session_close() after any of them, also after a
 * failure. */
struct session {
	struct common common;
	struct plan plan; /* points into common.targets */
	struct state *state;
	struct machine machine;
	struct discover_built *built; /* one per source; common.built points to it */
	char *recalled;		      /* set by session_recall(); common.targets_dir points to it */
};

/* Loads the configuration. */
int session_load(struct session *s);
/* Sets a key like the command-line option `option`. value NULL: does nothing. */
int session_set(struct session *s, const char *key, const char *value, const char *option);
/* Reads the results of the last build of each source, for common_find_targets(). */
int session_builds(struct session *s);
/* Like session_plan(), but prints no warnings, and accepts an empty plan. */
int session_find(struct session *s);
/* Finds the targets that --filter selects and resolves their configuration (s->plan). Targets that
 * the last build could not make are marked. Warns of likely mistakes. An empty plan is a usage
 * error. */
int session_plan(struct session *s);

/* Saves the --targets of a run, so that later commands do not need it. Call it with the lock
 * held. */
void session_remember(const struct session *s);
/* For commands about the results of a run. Without --targets, and without a source in the
 * configuration, uses the targets of the last run and prints this on stderr. */
int session_recall(struct session *s);

/* Opens the state for reading, without its lock and without recovery. A missing state is a usage
 * error. */
int session_read(struct session *s);
/* Like session_read(), for commands that work before the first run. If no option or variable names
 * the state directory, it may be missing (s->state is NULL). */
int session_read_any(struct session *s);
/* Like session_read(), but creates a missing state. */
int session_make(struct session *s);
/* Opens the state with its lock, for commands that change it without running a program. */
int session_lock(struct session *s);
/* The same, but waits for a process that has the lock, and says so. */
int session_wait(struct session *s);
/* Opens the state with its lock, and the machine. For commands that first start other programs, in
 * the control group that the machine gives us. */
int session_machine(struct session *s);
/* Does what session_machine() does, unless it was called. Kills the processes that a killed run
 * left, and saves its files. Prints which limits hold for the plan's targets. */
int session_open(struct session *s);

void session_close(struct session *s);

#endif
