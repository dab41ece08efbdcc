/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_STATE_H
#define RUNNER_STATE_STATE_H

#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* The state directory (layout: docs/state.md) and its lock.  There is one writer
 * at a time; the lock is released when it dies in any way. */
enum { STATE_INSTANCE_MAX = 24 };

struct state {
	char *path; /* absolute, real */
	int dirfd;
	int lock_fd;			   /* -1: opened without the lock */
	char instance[STATE_INSTANCE_MAX]; /* "s-0123456789abcdef": names our groups and
					    * runtime directory */
	/* In the ids of runs, so that they differ from those of other machines, with which the
	 * histories come together; 0: they do not. */
	unsigned run_tag;
};

enum state_use {
	STATE_READ, /* it must exist: a mistyped name is not an empty state */
	STATE_MAKE, /* made when missing; without the lock */
	STATE_WAIT, /* STATE_LOCK, but waits for the process that has the lock */
	STATE_LOCK, /* made when missing, with its directories; completes a killed change (change.h)
		     */
};

/* path NULL: $FUZZCELL_STATE_DIR, else ~/.fuzzcell.  -ENOENT: it does not exist, or no path is
 * given and there is no default.  -EBUSY: another process holds the lock (its pid is in the
 * text). */
MUST_CHECK int state_open(const char *path, enum state_use use, struct state **ret, struct err *e);
void state_close(struct state *s); /* NULL is fine */
/* The instance of a state directory that may not exist yet; path as above. */
MUST_CHECK int state_instance(const char *path, char ret[STATE_INSTANCE_MAX], struct err *e);

/* A run; state_run_begin() makes its directories. */
struct run_dirs {
	char id[32]; /* "YYYYMMDD-HHMMSS" in UTC, unique in this state directory, with its tag */
	int logs;    /* logs/<id> */
	int crashes; /* logs/<id>/crashes */
	int work;    /* work/<id> */
	char *work_path; /* absolute */
};
MUST_CHECK int state_run_begin(struct state *s, uint64_t real_us, struct run_dirs *ret,
			       struct err *e);
/* Notes that the run of this commit ended by itself: last_run_commit.  commit NULL: unknown,
 * nothing is noted. */
MUST_CHECK int state_run_done(struct state *s, const char *commit, struct err *e);
/* Removes the run's work directory (keep_work: leaves it for the next start to
 * recover) and closes. */
void state_run_end(struct state *s, struct run_dirs *r, bool keep_work);

/* corpus/<target>, made when missing; close() it. */
MUST_CHECK int state_open_corpus(struct state *s, const char *target, int *ret_fd, struct err *e);

/* How many artifacts wait in triage/<target>; one more if not all of them are readable. */
uint64_t state_waiting(const struct state *s, const char *target);

/* Appends a line to stats/<name>; a directory in name is made.  The line is on disk at the return,
 * or with a batch at the batch's end. */
MUST_CHECK int state_append_history(struct state *s, struct fs_batch *batch, const char *name,
				    const json_t *line, struct err *e);

/* Moves a damaged entry of the state directory to "damaged/<path>", or "damaged/<path>~2" and so
 * on when that name is taken.  Nothing is deleted or overwritten; a user decides.
 *
 * name: in dir; path: the same entry, relative to the state directory.  *ret_to: where it is now,
 * relative to the state directory (free() it). */
MUST_CHECK int state_set_aside(int state_dirfd, int dir, const char *name, const char *path,
			       char **ret_to, struct err *e);

#endif
