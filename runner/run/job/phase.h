/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_PHASE_H
#define RUNNER_RUN_JOB_PHASE_H

#include <stdbool.h>

/* The life of one target's fuzz job, as a table.  It is the only phase of a target: the policy
 * (policy/fleet.h) only gets a view of it.  The transition is pure: the caller, job_step(), sets
 * the next phase, then carries out the action.
 *
 *   waits: queued | resting | capped | held <----- pause, end of a turn or of other work -----.
 *     |                                                                                       |
 *     v                                                                                       |
 *   preparing -> fuzzing ----------> collecting -> triaging <-> merging -> checking, covering |
 *                 ^  \-> stopping -> dumping -> killing -^  |            |                     |
 *                 \---------- again, after a failure -------/------------/                     v
 *                                                                                           done
 *
 * A cell is ended in three steps, each with a grace period: stopping (a signal for a clean end),
 * dumping (a signal that makes the target write its current input and die), killing (of its cgroup,
 * which no target can ignore).  job.c has the timer.  If fuzzcell itself is suspended or dead, the
 * keeper (cgroups/keeper.c) kills the cell: soon after the deadline, or at once.
 *
 * A job that waits goes to triage, merging or checking without a cell when it is to end, or is
 * maintained.
 * Triage before the first cell is about crashes of earlier runs.  A job that is done may be
 * revived. */
enum phase {
	/* A waiting job has no worker.  The policy has the reason (enum fleet_wait). */
	PHASE_QUEUED,
	PHASE_RESTING,
	PHASE_CAPPED,
	PHASE_HELD,
	PHASE_PREPARING,  /* a child process lays out the working directory */
	PHASE_FUZZING,	  /* the cell fuzzes */
	PHASE_STOPPING,	  /* asked to stop; its grace runs */
	PHASE_DUMPING,	  /* asked to write its current input and die; its grace runs */
	PHASE_KILLING,	  /* the group was killed; waiting for the last process */
	PHASE_COLLECTING, /* a child process saves artifacts and new inputs */
	PHASE_TRIAGING,	  /* failures are run again, in cells of their own */
	PHASE_MERGING,	  /* the corpus is merged, likewise */
	PHASE_CHECKING,	  /* new inputs run in the target's other builds, likewise */
	PHASE_COVERING,	  /* the corpus runs in the coverage build, likewise */
	PHASE_DONE,
	PHASE_COUNT,
};

/* What the job was asked to do.  A later intent never takes an earlier one back.  How hard its cell
 * is ended (politely, by a dump, by a kill) is no intent: the event names it. */
enum intent {
	INTENT_NONE,
	INTENT_PAUSE, /* wait again */
	INTENT_STOP,  /* end, after the steps after fuzzing */
	INTENT_KILL,  /* end without these steps: they are left to another run */
};

enum phase_event {
	EVENT_START,	/* a worker is free for it */
	EVENT_READY,	/* prepared: the cell may start */
	EVENT_STOP,	/* end the cell, politely first */
	EVENT_STOP_NOW, /* end the cell with a dump: the current input matters, or time is short */
	EVENT_KILL,	/* end the cell at once */
	EVENT_GRACE,	/* a step's grace period is over */
	EVENT_ENDED,	/* the cell is gone, or did not start */
	EVENT_AGAIN,	/* collected, to be started again */
	EVENT_PAUSED,	/* collected, or waiting: it is queued */
	EVENT_RESTS,	/* the same: it rests */
	EVENT_CAPPED,	/* the same: it has reached its cap */
	EVENT_HELD,	/* the same: its rule holds */
	EVENT_TRIAGE,	/* collected (or prepared), with failures to look at */
	EVENT_MERGE,	/* fuzzing is over for this run */
	EVENT_CHECK,	/* the target's other builds have inputs to run */
	EVENT_COVER,	/* a coverage report is due */
	EVENT_FINAL,	/* nothing is left to do for the job */
	EVENT_REVIVED,	/* it has ended, and starts again */
	EVENT_COUNT,
};

enum phase_action {
	ACTION_NONE, /* the event does not matter in this phase */
	ACTION_PREPARE,
	ACTION_LAUNCH,
	ACTION_ASK,  /* polite signal, grace timer */
	ACTION_DUMP, /* dump signal, grace timer */
	ACTION_KILL,
	ACTION_COLLECT,
	ACTION_RELAUNCH, /* the working directory is still there */
	ACTION_REQUEUE,
	ACTION_WAIT, /* it waits for another reason */
	ACTION_TRIAGE,
	ACTION_STOP_TRIAGE, /* the rest of the queue waits for the next run */
	ACTION_MERGE,
	ACTION_STOP_MERGE, /* the next merge goes on */
	ACTION_CHECK,
	ACTION_STOP_CHECK, /* the rest waits for the next check */
	ACTION_COVER,
	ACTION_STOP_COVER, /* the report before stays */
	ACTION_FINISH,
	ACTION_REVIVE,
	ACTION_COUNT,
};

struct phase_step {
	enum phase next;
	enum phase_action action;
};

struct phase_step phase_step(enum phase p, enum phase_event ev);

/* Whether the job waits without a worker. */
bool phase_waits(enum phase p);
const char *phase_name(enum phase p);

#endif
