/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_DISPATCH_INTERNAL_H
#define RUNNER_RUN_DISPATCH_INTERNAL_H

#include "runner/run/dispatch/dispatch.h"

/* Shared by dispatch.c (starts, pauses and ends jobs), room.c (memory) and
 * continuous.c (continuous runs). */

/* The job holds a worker, and memory, from now on.  turn_us: see struct job. */
void dispatch_take(struct dispatch *d, struct job *j, uint64_t turn_us);

/* Whether there is memory for a cell of the job.  A job that needs more than the machine has runs
 * alone. */
bool dispatch_fits(const struct dispatch *d, const struct job *j);
/* The policy's view of job i.  A job that was asked to leave its turn is FLEET_BUSY.  A job is
 * FLEET_OUT when its end is decided.  arg: the dispatch. */
enum fleet_does dispatch_does(const void *arg, size_t i);
/* The number of jobs that run (FLEET_RUNS). */
unsigned dispatch_fuzzing(const struct dispatch *d);
/* Cells at once: the workers, or as many cells as there is memory for. */
unsigned dispatch_places(const struct dispatch *d);

/* Sets for each target whether there is memory for it. */
void dispatch_look_for_room(struct dispatch *d);
/* Makes room for a target that needs much memory and has waited long.  No other target starts until
 * it fits, and running targets leave one after the other.  True: a running target must leave now.
 */
bool dispatch_make_room(struct dispatch *d, uint64_t now);

/* Continuous: free workers maintain the corpora and crashes of waiting targets, each once a day.
 * idle: no target wants these workers, so they maintain resting targets sooner. */
void dispatch_maintain(struct dispatch *d, uint64_t now, bool idle);
/* Puts a job that has ended into the queue again. */
void dispatch_revive(struct dispatch *d, struct job *j);

#endif
