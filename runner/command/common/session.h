/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_SESSION_H
#define RUNNER_COMMAND_COMMON_SESSION_H

#include "runner/command/command.h"
#include "runner/command/common/machine.h"
#include "runner/run/plan.h"
#include "runner/state/state.h"

/* What commands that run targets, or read the state, begin with.  Starts as {0};
 * options go to common_take(&s->common, ...).  The functions print what is wrong and
 * return an exit status; in this order, as many as a command needs.  session_close()
 * is right after any of them, also after a failure. */
struct session {
	struct common common;
	struct plan plan; /* points into common.targets */
	struct state *state;
	struct machine machine;
	struct discover_built *built; /* of each source, as common.built has it */
	char *recalled;		      /* common.targets_dir, of session_recall() */
};

/* The configuration. */
int session_load(struct session *s);
/* Sets a key as if `option` had said so on the command line; value NULL: nothing. */
int session_set(struct session *s, const char *key, const char *value, const char *option);
/* As session_plan(), but it warns of nothing, and no target is as good as any number. */
int session_find(struct session *s);
/* The targets and what each gets (s->plan), as --filter chooses, those that the last build
 * could not make marked as such; warns of what looks like a mistake.  No target at all is
 * a wrong usage. */
int session_plan(struct session *s);

/* Of a run that was given --targets, which it has under its lock: the next commands need not be. */
void session_remember(const struct session *s);
/* For commands about what a run found.  Without --targets, and without a source in the
 * configuration, the targets are those of the last run; it says so on stderr. */
int session_recall(struct session *s);

/* The state, read by whoever likes: without its lock, nothing is recovered.  None is a wrong
 * usage. */
int session_read(struct session *s);
/* The same for those who are asked before the first run: when nobody named it, none is as good
 * (s->state is NULL), */
int session_look(struct session *s);
/* or it is made when missing. */
int session_make(struct session *s);
/* The state with its lock, for those who change it without running anything. */
int session_lock(struct session *s);
/* The state with its lock, and the machine: for those who have to start other programs
 * first, in the group that the machine gives us. */
int session_machine(struct session *s);
/* The same, unless it was done; kills what a killed predecessor left running,
 * saves what it left lying; says which promises hold for the plan's targets. */
int session_open(struct session *s);

void session_close(struct session *s);

#endif
