/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SCHEDULE_RUN_INTERNAL_H
#define RUNNER_SCHEDULE_RUN_INTERNAL_H

#include "runner/control/server.h"
#include "runner/schedule/control.h"
#include "runner/schedule/disk.h"
#include "runner/schedule/dispatch.h"
#include "runner/schedule/job.h"
#include "runner/schedule/pressure.h"
#include "runner/schedule/run.h"

/* Between run.c (how a run begins and ends), run_watch.c (what it hears in between) and run_ask.c
 * (what people ask of it). */

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
	unsigned stops; /* how often we were asked to end */
	int failed;	/* -errno of the loop's own trouble */
	struct err err;
};

/* As it is now. */
const struct run_view *run_look(struct run *r);
/* Hears each second, signals, the machine's pressure, the control channel. */
MUST_CHECK int run_watch(struct run *r, struct err *e);
void run_unwatch(struct run *r); /* as far as run_watch() came */
/* A person wants all to end: politely, or at once. */
void run_end(struct run *r, bool now);
/* Cells at once, of which one too many that fuzzes goes back into the queue with what is left of
 * its time; what has begun otherwise comes to its end. */
void run_set_workers(struct run *r, unsigned n);
/* control_answer_fn; arg: the run. */
MUST_CHECK int run_ask(void *arg, const struct control_request *q, json_t **ret, struct err *e);
/* job_env.news; arg: the run. */
void run_news(void *arg, struct job *j, enum job_news n);

#endif
