/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_DISPATCH_INTERNAL_H
#define RUNNER_RUN_DISPATCH_INTERNAL_H

#include "runner/run/dispatch/dispatch.h"

/* Between dispatch.c (who starts, pauses and ends), room.c (memory) and
 * days.c (continuous runs). */

/* It holds a worker, and memory, from now on. */
void dispatch_take(struct dispatch *d, struct job *j);

/* There is memory for it; one that is larger than the machine runs alone. */
bool dispatch_fits(const struct dispatch *d, const struct job *j);
/* Jobs that run, as the policy sees it. */
unsigned dispatch_fuzzing(const struct dispatch *d);
/* Cells at once: workers, or as many as there is memory for. */
unsigned dispatch_places(const struct dispatch *d);

/* Tells the policy for whom there is room. */
void dispatch_look_for_room(struct dispatch *d);
/* For one that needs much of it and has waited for long nobody else starts until it fits, and
 * those that run leave one after the other.  Whether one must go now. */
bool dispatch_make_room(struct dispatch *d, uint64_t now);

/* Continuous: workers that are free take care of corpora and crashes of those for whom that was
 * done a day ago; idle ones, of those that rest, too. */
void dispatch_tidy(struct dispatch *d, uint64_t now, bool idle);
/* One that has ended is in the queue again. */
void dispatch_revive(struct dispatch *d, struct job *j);

#endif
