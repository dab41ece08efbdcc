/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_INTERNAL_H
#define CELLS_INTERNAL_H

/* Shared by cell.c (the life cycle, actions on a living cell), process1.c (messages of process 1)
 * and memory.c (the stop at the memory mark). */
#include "cells/cell.h"
#include "cells/host.h"
#include "cells/listener.h"
#include "cells/output.h"

enum state {
	STARTING, /* crun runs */
	ADOPTING, /* crun has exited; process 1 is about to become our child */
	RUNNING,  /* process 1 runs as our child */
	ENDING,	  /* crun and process 1 are reaped; waits until the group can be removed */
	GONE,
	CELL_STATE_COUNT
};

enum event {
	EV_STARTED, /* crun reports that process 1 runs */
	EV_ADOPTED, /* process 1 is our child */
	EV_FAILED,  /* the start failed */
	EV_ENDED,   /* process 1 ended */
	EV_REMOVED, /* the group is removed, or cannot be */
	CELL_EVENT_COUNT
};

/* At the memory mark (memory.c). */
struct cell_mark {
	struct source *event, *again, *settle;
	unsigned checks; /* checks that still follow an event */
	bool met;	 /* the program reached the mark */
	bool halted;	 /* all threads of the cell are frozen, or will be until settled_by */
	uint64_t settled_by;
	struct source *alone; /* set while only one thread runs */
	pid_t tid;
	bool reports; /* the thread stops the others by ptrace */
	uint64_t until;
};

struct cell {
	struct cell_host *host;
	char id[64];
	struct cell_ops ops;
	void *arg;
	enum state state;
	struct cgroup *group;
	int dir;	  /* the bundle; -1: none was made */
	pid_t crun, init; /* init: process 1 */
	bool init_gone;
	uid_t uid;
	gid_t gid;
	struct {
		int socket; /* -1: closed, then process 1 ends */
		struct source *io;
		struct source *late; /* timeout: the program has ended without a message */
	} process1;
	/* The job's program, which process 1 started. */
	struct {
		pid_t pid; /* 0: not known yet, or it has ended */
		int fd;	   /* its pidfd; else -1 */
		struct source *exit;
		uint64_t pending; /* signals from before its start: bit signo-1 */
		bool ended;	  /* the program has ended (c->end), or was never executed */
		bool left;	  /* struct init_message */
	} job;
	bool stays;    /* cell_spec.stays */
	int cpu;       /* cpus_take() */
	char *program; /* its argv[0] */
	bool freeze;   /* requested before the job runs */
	struct source *crun_exit, *init_exit, *events;
	struct cell_mark mark;
	struct source *timer; /* the start's deadline, then retries */
	uint64_t until;	      /* when to stop retrying */
	const char *cut;      /* why we aborted the start; NULL: we did not */
	struct output out;
	struct listener refusals;
	struct cell_end end;
};

/* Makes the socket to process 1, and asks process 1 to start the program.  *ret_end is the other
 * end. */
MUST_CHECK int cell_process1_connect(struct cell *c, int *ret_end, struct err *e);
/* Reads all waiting messages of process 1. */
void cell_process1_read(struct cell *c);
/* Closes the socket to process 1, which makes process 1 exit. */
void cell_process1_disconnect(struct cell *c);
void cell_job_drop(struct cell *c);
/* Reports the end of the program (ops.exited) once process 1 is our child. */
void cell_process1_report(struct cell *c);
void cell_not_started(struct cell *c, const char *why);

MUST_CHECK int cell_memory_watch(struct cell *c, struct err *e);
void cell_memory_drop(struct cell *c);
/* Lets everything in the cell run again. */
void cell_memory_end(struct cell *c);
int cell_set_gone(const struct cell *c, struct err *e); /* -ESRCH, with a message */

#endif
