/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_DISPATCH_DISPATCH_H
#define RUNNER_RUN_DISPATCH_DISPATCH_H

#include "runner/config/config.h"
#include "runner/policy/fleet.h"
#include "runner/policy/workers.h"
#include "runner/run/job/job.h"

/* Gives the workers and the memory of a run to its jobs.  runner/policy/fleet.h decides; this
 * module carries the decisions out. */
struct dispatch {
	struct job *jobs; /* owned by the caller */
	struct fleet_target *targets;
	size_t n;
	struct fleet fleet;
	struct workers workers;
	uint64_t quantum_us;	 /* as configured */
	uint64_t machine_memory; /* upper limit for the sum of the cells' memory limits */
	uint64_t memory_used;
	unsigned busy;			  /* workers that jobs hold or borrow */
	struct fleet_target *crowded_out; /* it waits for much memory; NULL: none */
	uint64_t deadline_us;		  /* end of fuzzing; 0: none */
	bool closed;			  /* no target is fuzzed any more */
	bool paused;			  /* nothing starts at all */
	bool full;			  /* nothing starts until the disk has space again */
	bool held; /* no new cell starts; running cells are not asked to end */
	uint64_t began_us;
	uint64_t asked_us;  /* the last dispatch_next() */
	uint64_t ending_us; /* since when a job waits for a worker to wrap up; 0: none */
	uint64_t looked_us; /* continuous: the last look at the binaries */
	uint64_t day_us;    /* continuous: start of the day */
	/* A cell could not start because fuzzcell is short of a resource: fewer cells run for
	 * now. */
	struct dispatch_shortage {
		uint64_t at_us, wait_us; /* time of the last failure; wait until the next try */
		unsigned cells;
		unsigned times; /* failures; 0: nothing is short */
		unsigned alone; /* failures in a row without any cell running */
	} shortage;
	bool deciding, again; /* dispatch_next() is re-entered when a started job ends at once */
};

/* Allocates the fleet targets of n jobs.  Call dispatch_done() after a failure, too. */
MUST_CHECK int dispatch_init(struct dispatch *d, const struct run_config *cfg, unsigned workers,
			     uint64_t machine_memory, bool continuous, size_t n, struct err *e);
void dispatch_done(struct dispatch *d);
/* Adds a target with the rule of its configuration. */
void dispatch_join(struct dispatch *d, size_t i, const struct target_config *cfg);

/* Continuous, once a second: looks for new builds.  Each day has its own limits, as a run has:
 * caps, time for triage, number of crashes.  A target that ended at such a limit waits again on the
 * next day. */
void dispatch_second(struct dispatch *d, uint64_t now);
/* The disk became full, or has space again.  All targets wait for space, also those that ended
 * because their finds could not be saved.  True: the state has changed. */
bool dispatch_disk(struct dispatch *d, bool full);
/* Starts, pauses and ends jobs as the policy decides. */
void dispatch_next(struct dispatch *d);
/* The job waits in the queue again, or has ended: frees its worker and memory. */
void dispatch_left(struct dispatch *d, struct job *j);
/* Call it after dispatch_left() for a job that could not get a resource.  Fewer cells run for a
 * while, longer each time.  False: several times in a row not even one cell could run. */
bool dispatch_short(struct dispatch *d, uint64_t now);
/* Cells at once: the workers, or fewer while a resource is short. */
unsigned dispatch_workers(const struct dispatch *d);
/* The number of jobs in the queue, without those that rest or reached their daily cap. */
size_t dispatch_waiting(const struct dispatch *d);

/* Requests of a user.
 *
 *   stop   The target ends now.  Only a user starts it again.
 *   start  The target waits, is the next to start, and gets new limits.  If it is ending, that
 *          happens when it has ended (dispatch_ended()).  No effect on a target with a turn.
 *   skip   The target's turn ends, and others come first. */
bool dispatch_has_turn(const struct job *j);
void dispatch_stop(struct dispatch *d, struct job *j, bool now);
void dispatch_start(struct dispatch *d, struct job *j);
MUST_CHECK int dispatch_skip(struct dispatch *d, struct job *j, struct err *e);
/* Call it after dispatch_left() for a job that has ended. */
void dispatch_ended(struct dispatch *d, struct job *j);

/* Lends workers while no job waits for one, each with the memory of a cell of j. */
unsigned dispatch_lend(struct dispatch *d, const struct job *j, unsigned want);
void dispatch_give_back(struct dispatch *d, const struct job *j, unsigned lent);
bool dispatch_borrow_memory(struct dispatch *d, uint64_t bytes);
void dispatch_return_memory(struct dispatch *d, uint64_t bytes);

#endif
