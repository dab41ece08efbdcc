/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_CELL_STATE_H
#define IMAGES_CELL_STATE_H

/* Between cell.c (the life cycle) and cell_act.c (what a person may do to a living cell). */
#include "images/cell.h"
#include "images/host.h"
#include "images/listener.h"
#include "images/output.h"

enum state {
	STARTING, /* crun runs */
	ADOPTING, /* it is done; the job's first process is about to become our child */
	RUNNING,  /* that process runs, and is ours to reap */
	ENDING,	  /* both are reaped; waits until the group is empty and can be removed */
	GONE,
	STATES_
};

enum event {
	EV_STARTED, /* crun says that the job runs */
	EV_ADOPTED, /* its first process is our child */
	EV_FAILED,  /* neither will be */
	EV_ENDED,   /* the first process ended */
	EV_REMOVED, /* the group is removed, or cannot be */
	EVENTS_
};

struct cell {
	struct cell_host *host;
	char id[64];
	struct cell_ops ops;
	void *arg;
	enum state state;
	struct cgroup *group;
	int dir; /* the bundle; -1: none was made */
	pid_t crun, job;
	int pidfd;	  /* of the first process, while it runs; else -1 */
	uint64_t pending; /* signals that came before we knew that process: bit signo-1 */
	bool freeze;	  /* asked for before the job runs */
	bool halted;	  /* at the memory mark */
	struct source *crun_exit, *job_exit, *events, *memory;
	struct source *timer; /* the start's deadline, then retries */
	uint64_t until;	      /* when to stop retrying */
	const char *cut;      /* why we ended the start ourselves; NULL: we did not */
	struct output out;
	struct listener refusals;
	struct cell_end end;
};

#endif
