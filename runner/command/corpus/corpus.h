/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CORPUS_CORPUS_H
#define RUNNER_COMMAND_CORPUS_CORPUS_H

#include "runner/command/command.h"
#include "runner/command/common/pace.h"
#include "runner/command/common/session.h"

/* The subcommands of `fuzzcell corpus`, one file each. argv[0] is the subcommand's name. */
int corpus_stats(int argc, char **argv);
int corpus_minimize(int argc, char **argv);
int corpus_intree(int argc, char **argv);
int corpus_import(int argc, char **argv);
int corpus_export(int argc, char **argv);
int corpus_verify(int argc, char **argv);

/* Merges the corpora of the session's plan, prints the results and writes the history. The session
 * is open (session_open()). Starts as {0}. Returns an exit status. */
struct corpus_merge {
	struct session *session;
	const char *commit; /* may be NULL */
	bool dry_run, force;
	json_t *targets; /* an array: receives the lines of the history */
	/* Its own. */
	struct pace pace;
	uint64_t ended;		 /* targets */
	bool failed, unrecorded; /* of any target */
};
int corpus_merge_all(struct corpus_merge *m);

#endif
