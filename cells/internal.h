/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_INTERNAL_H
#define CELLS_INTERNAL_H

/* Shared by cell.c (the life cycle), process1.c (what process 1 says), act.c (actions on a
 * living cell) and memory.c (the stop at its memory mark). */
#include "cells/cell.h"
#include "cells/host.h"
#include "cells/listener.h"
#include "cells/output.h"

enum state {
	STARTING, /* crun runs */
	ADOPTING, /* it is done; process 1 is about to become our child */
	RUNNING,  /* process 1 runs, and is ours to reap */
	ENDING,	  /* both are reaped; waits until the group is empty and can be removed */
	GONE,
	CELL_STATE_COUNT
};

enum event {
	EV_STARTED, /* crun says that process 1 runs */
	EV_ADOPTED, /* it is our child */
	EV_FAILED,  /* neither will be */
	EV_ENDED,   /* process 1 ended */
	EV_REMOVED, /* the group is removed, or cannot be */
	CELL_EVENT_COUNT
};

/* At the memory mark (memory.c). */
struct cell_mark {
	struct source *event, *again, *settle;
	unsigned looks; /* looks that are still to come after an event */
	bool met;	/* the program came to it */
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
	int dir;	  /* the bundle; -1: none was made */
	pid_t crun, init; /* init: process 1 */
	bool init_gone;
	uid_t uid;
	gid_t gid;
	struct {
		int socket; /* -1: closed, then process 1 ends */
		struct source *io;
		struct source *late; /* the program has ended, and process 1 did not say so */
	} words;
	/* The job's program, which process 1 started. */
	struct {
		pid_t pid; /* 0: not known yet, or it has ended */
		int fd;	   /* its pidfd; else -1 */
		struct source *exit;
		uint64_t pending; /* signals that came before we knew it: bit signo-1 */
		bool ended;	  /* as c->end says, or it was never executed */
		bool left;	  /* struct init_message */
	} job;
	bool stays;    /* cell_spec.stays */
	char *program; /* its argv[0] */
	bool freeze;   /* asked for before the job runs */
	struct source *crun_exit, *init_exit, *events;
	struct cell_mark mark;
	struct source *timer; /* the start's deadline, then retries */
	uint64_t until;	      /* when to stop retrying */
	const char *cut;      /* why we ended the start ourselves; NULL: we did not */
	struct output out;
	struct listener refusals;
	struct cell_end end;
};

/* Makes the socket to process 1, and asks it to start the program.  *ret_end is the other end. */
MUST_CHECK int cell_words_start(struct cell *c, int *ret_end, struct err *e);
/* What was said and not read yet. */
void cell_words_read(struct cell *c);
/* Nothing more is said to process 1: it ends. */
void cell_words_end(struct cell *c);
void cell_job_drop(struct cell *c);
/* Process 1 is ours: what waited for that. */
void cell_words_adopted(struct cell *c);
void cell_not_started(struct cell *c, const char *why);

MUST_CHECK int cell_memory_watch(struct cell *c, struct err *e);
void cell_memory_drop(struct cell *c);
/* Everything in it runs again. */
void cell_memory_end(struct cell *c);
int cell_gone(const struct cell *c, struct err *e); /* -ESRCH, with a message */

#endif
