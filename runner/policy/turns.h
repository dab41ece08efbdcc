/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_TURNS_H
#define RUNNER_POLICY_TURNS_H

#include "runner/policy/fleet.h"

/* How long turns are.  Without a deadline a turn is as configured.  A run with a deadline has
 * shorter turns, so that also a short run gives its time to the targets that find most:
 *
 *   slice   a quarter of an equal share of the whole run; at least 10 s, or the whole share if that
 *           is shorter.  A turn takes a slice.
 *   look    half of a slice.  Known builds compete from the start by their expected gain.  When
 *           the time left gives each target without a turn just a look, those without one come
 *           first.
 *           A run must show for each target that it still fuzzes.
 *
 * In wall time a turn takes at most three times its length.  It takes just its length when the
 * time left does not give a slice to each target without a turn.
 *
 * The functions are pure. */
struct turns {
	uint64_t turn_us;     /* as configured */
	uint64_t began_us;    /* start of the run's fuzzing */
	uint64_t deadline_us; /* end of the run's fuzzing; 0: none */
};

/* The wall time of each turn when all waiting targets get a turn before left_us is over: at most
 * most_us.  workers: at least 1.  waiting: the number of these targets, with the next one. */
uint64_t turns_fair(uint64_t most_us, uint64_t left_us, unsigned workers, size_t waiting);

/* Sets the fleet's rules, and which targets must get their turn now.  workers: cells at once, as
 * far as there is memory for them; at least 1. */
void turns_set(struct fleet *f, const struct turns *t, uint64_t now_us, unsigned workers);

#endif
