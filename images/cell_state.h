/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_CELL_STATE_H
#define IMAGES_CELL_STATE_H

/* Shared by cell.c (the life cycle), cell_act.c (actions on a living cell) and cell_memory.c (the
 * stop at its memory mark). */
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

/* At the memory mark (cell_memory.c). */
struct cell_mark {
	struct source *event, *again, *settle;
	unsigned looks; /* looks that are still to come after an event */
	bool halted;	/* all tasks of the cell are frozen, or will be until settled_by */
	uint64_t settled_by;
	struct source *alone; /* set while only one thread runs */
	pid_t tid;
	bool reports; /* it stops the others by ptrace */
	uint64_t until;
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
	struct source *crun_exit, *job_exit, *events;
	struct cell_mark mark;
	struct source *timer; /* the start's deadline, then retries */
	uint64_t until;	      /* when to stop retrying */
	const char *cut;      /* why we ended the start ourselves; NULL: we did not */
	struct output out;
	struct listener refusals;
	struct cell_end end;
};

MUST_CHECK int cell_memory_watch(struct cell *c, struct err *e);
void cell_memory_drop(struct cell *c);
int cell_gone(const struct cell *c, struct err *e); /* -ESRCH, with a message */

#endif
