/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_DISPATCH_DISPATCH_H
#define RUNNER_RUN_DISPATCH_DISPATCH_H

#include "runner/config/config.h"
#include "runner/policy/fleet.h"
#include "runner/policy/workers.h"
#include "runner/run/job/job.h"

/* Workers and memory of a run: who of the jobs has them.  The decisions are
 * runner/policy/fleet.h's; this carries them out. */
struct dispatch {
	struct job *jobs; /* the caller's */
	struct fleet_target *targets;
	size_t n;
	struct fleet fleet;
	struct workers workers;
	uint64_t quantum_us;	 /* as configured */
	uint64_t machine_memory; /* what the sum of the cells' limits may reach */
	uint64_t memory_used;
	unsigned busy;		     /* workers that jobs hold, and that were lent */
	size_t room_for;	     /* 1 + who needs much memory, and waits for it; 0: nobody */
	uint64_t deadline_us;	     /* of fuzzing; 0: none */
	bool closed;		     /* nothing is fuzzed any more */
	bool paused;		     /* nothing starts at all */
	bool full;		     /* likewise, until the disk has space again */
	bool held;		     /* no new cell starts; running cells are not asked to end */
	uint64_t began_us, asked_us; /* dispatch_next(), last */
	uint64_t ending_us;	     /* since when somebody waits for a worker to end; 0: nobody */
	uint64_t looked_us, day_us;  /* continuous: at the binaries, and when the day began */
	/* A cell could not start because fuzzcell is short of a resource: fewer cells run for
	 * now. */
	struct dispatch_shortage {
		uint64_t at_us, wait_us; /* when it was short; wait until the next try */
		unsigned cells;
		unsigned times; /* failures; 0: nothing is short */
		unsigned alone; /* failures in a row without any cell running */
	} shortage;
	bool deciding, again; /* a started job may end at once, and ask for more */
};

/* n jobs' fleet targets; dispatch_done() is right after a failure, too. */
MUST_CHECK int dispatch_init(struct dispatch *d, const struct run_config *cfg, unsigned workers,
			     uint64_t machine_memory, bool continuous, size_t n, struct err *e);
void dispatch_done(struct dispatch *d);
/* A target joins: with the rule of its configuration. */
void dispatch_join(struct dispatch *d, size_t i, const struct target_config *cfg);

/* Continuous, once a second: looks for new builds.  A day of it has what a run has: its caps,
 * its time for triage, its crashes; who came to such a limit waits again. */
void dispatch_second(struct dispatch *d, uint64_t now);
/* The disk is full, or not any more: all wait until then, those too that ended because what they
 * found could not be saved.  True: that is news. */
bool dispatch_disk(struct dispatch *d, bool full);
/* Starts, pauses and ends what the policy says. */
void dispatch_next(struct dispatch *d);
/* The job waits in the queue again, or has ended: what it held is free. */
void dispatch_left(struct dispatch *d, struct job *j);
/* After dispatch_left() of a job that could not get a resource.  Fewer cells run for a while,
 * longer each time.  False: several times in a row not even one cell could run. */
bool dispatch_short(struct dispatch *d, uint64_t now);
/* Cells at once: the workers, or fewer while a resource is short. */
unsigned dispatch_workers(const struct dispatch *d);
/* Jobs that are in the queue for a worker: not those that rest, or had their day's time. */
size_t dispatch_waiting(const struct dispatch *d);

/* What a person wants of a target.  Stop: it ends now, and nobody but a person starts it again.
 * Start: it waits, is next, and has its limits from now; one that comes to its end does so when
 * it has ended (dispatch_ended()).  Skip: its turn ends, and others come first.  One that has its
 * turn is not started by it, and one that has none has nothing to end. */
bool dispatch_has_turn(const struct job *j);
void dispatch_stop(struct dispatch *d, struct job *j, bool now);
void dispatch_start(struct dispatch *d, struct job *j);
MUST_CHECK int dispatch_skip(struct dispatch *d, struct job *j, struct err *e);
/* After dispatch_left(), of one that has ended. */
void dispatch_ended(struct dispatch *d, struct job *j);

/* Only workers that nobody waits for; each with the memory of a cell of j. */
unsigned dispatch_lend(struct dispatch *d, const struct job *j, unsigned want);
void dispatch_give_back(struct dispatch *d, const struct job *j, unsigned lent);
bool dispatch_borrow_memory(struct dispatch *d, uint64_t bytes);
void dispatch_return_memory(struct dispatch *d, uint64_t bytes);

#endif
