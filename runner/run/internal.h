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

/* Shared by run.c (how a run begins and ends), watch.c (its events), space.c (the room on
 * the disk) and ask.c (requests of users). */

/* A look at the space that the cells hold on the disk, in a child process. */
struct run_look {
	struct run *run;
	struct task *task; /* NULL: none is under way */
	bool deep;	   /* walks files with names, too */
	bool held;	   /* all cells stood when it began */
	uint64_t began_us, not_before_us;
	struct fs_room room; /* when it began */
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
	struct control_server *server; /* NULL: nobody can ask */
	struct dispatch dispatch;
	struct pressure *pressure; /* NULL: the machine does not tell, or it shall not matter */
	uint64_t began_us;
	struct disk_watch disk;
	struct source *disk_timer;
	struct run_look looks[2]; /* quick, deep */
	uint64_t walks;		  /* number of deep looks begun */
	uint64_t disk_before;	  /* free bytes, at the last deep look */
	uint64_t held_us; /* since when the cells stand, because the disk is nearly full; 0 */
	bool foreign;	  /* the disk is nearly full, and no cell is the cause */
	unsigned stops;	  /* how often a user asked the run to end */
	int failed;	  /* -errno of the loop itself */
	struct err err;
};

/* As it is now. */
const struct run_view *run_look(struct run *r);
/* The same; only row i is as it is now, the others are at most a second older.  An event of each
 * of 2,000 targets costs 2,000 rows, not four million. */
const struct run_view *run_look_at(struct run *r, size_t i);
/* Hears each second, signals, the machine's pressure, the control channel. */
MUST_CHECK int run_watch(struct run *r, struct err *e);
void run_unwatch(struct run *r); /* as far as run_watch() came */
/* Calls fn for all jobs that have not ended. run_end_politely() is one such fn. */
void run_each_job(struct run *r, void (*fn)(struct job *j, enum reason why), enum reason why);
void run_end_politely(struct job *j, enum reason why);
/* Whether new builds may come. */
bool run_goes_on(const struct run *r);
/* Watches the disk until the run ends. */
MUST_CHECK int run_disk_begin(struct run *r, struct err *e);
void run_disk_end(struct run *r);
/* A person wants all to end: politely, or at once. */
void run_end(struct run *r, bool now);
/* Cells at once, of which one too many that fuzzes goes back into the queue with what is left of
 * its time; what has begun otherwise comes to its end. */
void run_set_workers(struct run *r, unsigned n);
/* view.workers is another number. */
void run_count_workers(struct run *r);
/* control_answer_fn; arg: the run. */
MUST_CHECK int run_ask(void *arg, const struct control_request *q, json_t **ret, struct err *e);
/* job_env.news; arg: the run. */
void run_news(void *arg, struct job *j, enum job_news n);

#endif
