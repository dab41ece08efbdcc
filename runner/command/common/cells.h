/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_CELLS_H
#define RUNNER_COMMAND_COMMON_CELLS_H

#include "runner/command/common/session.h"
#include "runner/run/triage/replay.h"

#include <limits.h>

/* Shared by the commands that run given inputs in cells: the environment of a replay, a directory
 * that the cells read, and handling of ^C. Starts as {0}. The functions print their errors and
 * return an exit status. Call cells_close() after any of them, also after a failure. */
struct cells {
	struct replay_env replay;
	unsigned workers; /* number of cells at once, limited by memory */
	int dirfd;	  /* the directory; new and empty, removed by cells_close() */
	char *path;	  /* absolute */

	/* The module's own. */
	struct session *session;
	char *symbolizer;
	struct source *signals[3];
	void (*stop)(void *arg);
	void *arg;
	bool stopped;
};

/* After session_open().  name begins the cells' names. */
int cells_open(struct cells *c, struct session *s, const char *name);
/* Limits the symbolizer's memory to what the target's own limit leaves of the machine's. For
 * targets that are not in the session's plan; cells_open() has done it for the others. */
void cells_fit(const struct cells *c, struct target_config *io);
/* Copies a user's file into the directory, where cells can read it. */
int cells_copy(struct cells *c, const char *from, char out[PATH_MAX]);
/* Runs the loop until loop_stop(). Call it only once. The first ^C calls stop, which must end all
 * cells. */
int cells_run(struct cells *c, void (*stop)(void *arg), void *arg);
bool cells_stopped(const struct cells *c); /* by ^C or another signal */
void cells_close(struct cells *c);

/* Removes the directory that a killed command left behind. Call it with the lock held. */
MUST_CHECK int cells_sweep(const struct state *s, struct err *e);

#endif
