/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SCHEDULE_RUN_INTERNAL_H
#define RUNNER_SCHEDULE_RUN_INTERNAL_H

#include "runner/schedule/control.h"
#include "runner/schedule/disk.h"
#include "runner/schedule/dispatch.h"
#include "runner/schedule/job.h"
#include "runner/schedule/pressure.h"
#include "runner/schedule/run.h"

/* Between run.c (how a run begins and ends) and run_watch.c (what it hears in between). */

struct run {
	struct run_opts o;
	struct job_env env;
	struct job *jobs;
	size_t n;
	struct target_row *rows;
	struct run_view view;
	struct source *tick, *signals[5];
	struct control *control;
	struct dispatch dispatch;
	struct pressure *pressure; /* NULL: the machine does not tell, or it shall not matter */
	uint64_t began_us;
	struct disk_watch disk;
	unsigned stops; /* how often we were asked to end */
	int failed;	/* -errno of the loop's own trouble */
	struct err err;
};

/* As it is now. */
const struct run_view *run_look(struct run *r);
/* Hears each second, signals, the machine's pressure, the control channel. */
MUST_CHECK int run_watch(struct run *r, struct err *e);
void run_unwatch(struct run *r); /* as far as run_watch() came */
/* job_env.news; arg: the run. */
void run_news(void *arg, struct job *j, enum job_news n);

#endif
