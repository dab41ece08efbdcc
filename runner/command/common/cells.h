/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_CELLS_H
#define RUNNER_COMMAND_COMMON_CELLS_H

#include "runner/command/common/session.h"
#include "runner/run/triage/trial.h"

#include <limits.h>

/* What commands share that run given inputs in cells: what a trial needs, a directory for
 * what the cells read, and ^C.  Starts as {0}; functions print what is wrong and
 * return an exit status; cells_close() is right after any of them. */
struct cells {
	struct trial_env trial;
	unsigned workers; /* cells at once: as many as the memory is for */
	int dirfd;	  /* the directory, new and empty; it goes at the end */
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
/* Copies a person's file into the directory, where cells may read it. */
int cells_copy(struct cells *c, const char *from, char out[PATH_MAX]);
/* The loop, once, until loop_stop(); stop is called on the first ^C, and ends all cells. */
int cells_run(struct cells *c, void (*stop)(void *arg), void *arg);
bool cells_stopped(const struct cells *c); /* by a person */
void cells_close(struct cells *c);

/* Removes the directory that a killed command left.  With the lock held. */
MUST_CHECK int cells_sweep(const struct state *s, struct err *e);

#endif
