/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_INTERNAL_H
#define RUNNER_RUN_INTERNAL_H

#include "runner/control/server.h"
#include "runner/run/control.h"
#include "runner/run/disk.h"
#include "runner/run/dispatch/dispatch.h"
#include "runner/run/job/job.h"
#include "runner/run/pressure.h"
#include "runner/run/run.h"

/* Shared by run.c (start and end of a run), watch.c (its events), disk_limits.c (disk space) and
 * ask.c (requests of users). */

/* A measurement of the cells' disk space, in a child process. */
struct run_look {
	struct run *run;
	struct task *task; /* NULL: none is under way */
	bool deep;	   /* walks files with names, too */
	bool frozen;	   /* all cells were frozen when it began */
	uint64_t began_us, not_before_us;
	struct fs_room room; /* free space when it began */
};

struct run {
	struct run_opts o;
	struct job_env env;
	struct job *jobs;
	size_t n;
	struct target_row *rows;
	struct run_view view;
	struct source *tick, *signals[5];
	struct control *control;
	struct control_server *server; /* NULL: there is no control socket */
	struct dispatch dispatch;
	struct pressure *pressure; /* NULL: no PSI */
	uint64_t began_us;
	struct disk_watch disk;
	struct source *disk_timer;
	struct run_look looks[2]; /* quick, deep */
	uint64_t walks;		  /* number of deep looks begun */
	uint64_t disk_before;	  /* free bytes, at the last deep look */
	uint64_t frozen_us; /* since when the cells are frozen for want of space; 0: not frozen */
	bool foreign;	    /* the disk is nearly full, and no cell is the cause */
	/* CPU time of inputs that ran in other builds of targets, and that checks in work may use.
	 */
	uint64_t checked_us, check_reserved_us;
	unsigned stops; /* how often a user asked the run to end */
	int failed;	/* -errno of the loop itself */
	struct err err;
};

/* The run's present view. */
const struct run_view *run_look(struct run *r);
/* The same, but it updates row i only; the other rows are at most a second old.  An event of each
 * of 2,000 targets costs 2,000 rows, not four million. */
const struct run_view *run_look_at(struct run *r, size_t i);
/* Handles the timer of each second, signals, the machine's pressure and the control channel. */
MUST_CHECK int run_watch(struct run *r, struct err *e);
void run_unwatch(struct run *r); /* also after a failed run_watch() */
/* Calls fn for all jobs that have not ended. run_end_politely() is one such fn. */
void run_each_job(struct run *r, void (*fn)(struct job *j, enum reason why), enum reason why);
void run_end_politely(struct job *j, enum reason why);
/* Whether the run goes on when all jobs have ended: new builds may come. */
bool run_goes_on(const struct run *r);
/* Watches the disk until the run ends. */
MUST_CHECK int run_disk_begin(struct run *r, struct err *e);
void run_disk_end(struct run *r);
/* Ends all jobs for a user: politely, or at once. */
void run_end(struct run *r, bool now);
/* Sets the number of cells at once.  Surplus targets that fuzz go back into the queue with the rest
 * of their time.  Surplus triages and merges go on to their end. */
void run_set_workers(struct run *r, unsigned n);
/* view.workers has changed: updates its maximum. */
void run_count_workers(struct run *r);
/* A control_answer_fn; arg: the run. */
MUST_CHECK int run_ask(void *arg, const struct control_request *q, json_t **ret, struct err *e);
/* The function job_env.news; arg: the run. */
void run_news(void *arg, struct job *j, enum job_news n);

#endif
