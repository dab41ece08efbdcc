/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_DISPATCH_DISPATCH_H
#define RUNNER_RUN_DISPATCH_DISPATCH_H

#include "runner/config/config.h"
#include "runner/policy/fleet.h"
#include "runner/policy/workers.h"
#include "runner/run/job/job.h"

/* Gives the workers and the memory of a run to its jobs.  runner/policy/fleet.h decides which
 * targets run; this module carries the decisions out.  fleet.h also defines the words turn,
 * cap and rest. */
struct dispatch {
	struct job *jobs; /* n, owned by the caller */
	/* The jobs' entries in the fleet: targets[i] belongs to jobs[i].  Owned. */
	struct fleet_target *targets;
	size_t n;
	struct fleet fleet;
	struct workers workers;
	uint64_t turn_us;	 /* as configured; fleet.rules has the turn in force */
	uint64_t machine_memory; /* limit of memory_used, unless a single job needs more */
	/* Memory limits of the cells of all `busy` workers, and memory lent without a worker. */
	uint64_t memory_used;
	unsigned busy; /* workers that jobs hold or borrow */
	/* The target for which memory is being freed: it needs more than any one job leaves.  NULL:
	 * none. */
	struct job *crowded_out;
	uint64_t deadline_us; /* end of fuzzing, clock_mono_us(); 0: fuzzing has no end */
	/* Four conditions under which dispatch_next() starts less, or nothing: */
	bool closed; /* fuzzing is over: only steps after fuzzing start */
	bool paused; /* a user paused the run (SIGTSTP): all jobs pause, nothing starts */
	/* Continuous: other programs filled the disk.  All jobs pause, and nothing starts until the
	 * disk has space again. */
	bool full;
	/* The disk is nearly full, and the run looks for the cause.  Nothing starts.  Running cells
	 * are frozen (job_freeze()), not paused. */
	bool frozen;
	uint64_t began_us;  /* start of the run, clock_mono_us() as all times here */
	uint64_t asked_us;  /* the last dispatch_next(); 0: never */
	uint64_t ending_us; /* since when a job waits for a worker for job_wrap_up(); 0: none */
	uint64_t looked_us; /* continuous: the last look at the binaries */
	uint64_t day_us;    /* continuous: start of the day */
	/* A cell could not start because fuzzcell is short of a resource (descriptors, processes,
	 * memory): fewer cells run for now.  After each wait_us one more cell may run. */
	struct dispatch_shortage {
		uint64_t at_us;		/* the last failure */
		uint64_t wait_us;	/* wait until the next try */
		unsigned cells;		/* cells that ran at the last failure */
		unsigned times;		/* failures; 0: nothing is short */
		unsigned without_cells; /* failures in a row while no cell ran */
	} shortage;
	bool deciding; /* dispatch_next() is at work */
	bool again; /* it must decide once more: it carried an order out, or was called meanwhile */
};

/* Initialises *d, with the fleet targets of n jobs.  dispatch_done() frees them. */
void dispatch_init(struct dispatch *d, const struct run_config *cfg, unsigned workers,
		   uint64_t machine_memory, bool continuous, size_t n);
void dispatch_done(struct dispatch *d);
/* The rule of a target with this configuration. */
struct rule dispatch_rule(const struct target_config *cfg);
/* Gives the i-th target the rule, the priority and the CPU quota of its configuration, and the
 * strategies that may be tried (struct strategies).  main, build: of another build that fuzzes in
 * turns with its main build (struct fleet_member); NULL: it is a main build. */
void dispatch_join(struct dispatch *d, size_t i, const struct target_config *cfg,
		   unsigned strategies, struct fleet_target *main, const char *build);

/* Call it once a second.  It works only in a continuous run:
 *
 *   Every ten seconds it looks for new builds, and pauses jobs that have fuzzed for a day without a
 *   pause.
 *   Each day the targets get the limits of a whole run anew: the cap, the time for triage,
 *   max_crashes, and the disk limit.  A target that ended because of such a limit, of its failures,
 *   or because it did not start, waits in the queue again. */
void dispatch_second(struct dispatch *d, uint64_t now);
/* Sets dispatch.full.  full: all jobs pause until the disk has space again.  When it has, jobs that
 * ended because the full disk could not take their results wait in the queue again.  True: the
 * value has changed. */
bool dispatch_disk(struct dispatch *d, bool full);
/* Starts, pauses and ends jobs as the fleet decides.  Call it after each event of a job, and once a
 * second. */
void dispatch_next(struct dispatch *d);
/* Call it when the job waits in the queue again, or has ended.  It frees the job's worker and
 * memory. */
void dispatch_left(struct dispatch *d, struct job *j);
/* Call it after dispatch_left() for a job that could not get a resource.  From now on no more cells
 * run than at this failure.  After a wait one more cell may run; the wait is longer after each
 * failed try.  False: starting failed several times in a row while no other cell ran. */
bool dispatch_short(struct dispatch *d, uint64_t now);
/* The number of cells that may run at once: the workers, or fewer while a resource is short. */
unsigned dispatch_workers(const struct dispatch *d);
/* The number of jobs in the queue, without those that rest or have reached their cap of today. */
size_t dispatch_waiting(const struct dispatch *d);

/* Requests of a user.
 *
 *   stop   The job ends with REASON_STOPPED, by job_stop(); now: by job_kill().  Then only a user
 *          starts the target again.
 *   start  The target is the next to start, with a new max_time and a new cap.  A job that has
 *          ended goes back into the queue.  For a job that is ending, dispatch_ended() does this
 *          later.  No effect on a target that has a turn.
 *   skip   The target's turn ends, and other waiting targets come first.  -EALREADY: the job has
 *          ended, or is ending. */
bool dispatch_has_turn(const struct job *j); /* whether its target runs, and is not ending */
void dispatch_stop(struct dispatch *d, struct job *j, bool now);
void dispatch_start(struct dispatch *d, struct job *j);
MUST_CHECK int dispatch_skip(struct dispatch *d, struct job *j, struct err *e);
/* Call it after dispatch_left() for a job that has ended: starts it if a user asked for that while
 * it was ending. */
void dispatch_ended(struct dispatch *d, struct job *j);

/* Lends `want` workers or fewer to j, each with the memory of one of its cells, and returns their
 * number.  Lends none while dispatch_waiting() is above 0. */
unsigned dispatch_lend(struct dispatch *d, const struct job *j, unsigned want);
void dispatch_give_back(struct dispatch *d, const struct job *j, unsigned lent);
/* Lends memory without a worker.  False: that much is not free. */
bool dispatch_borrow_memory(struct dispatch *d, uint64_t bytes);
void dispatch_return_memory(struct dispatch *d, uint64_t bytes);

#endif
