/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_TURNS_H
#define RUNNER_POLICY_TURNS_H

#include "runner/policy/fleet.h"

/* How long turns are.  Without a deadline a quantum is as configured.  A run with a deadline has
 * shorter ones, so that its time goes to the targets that find most, also when it is short:
 *
 *   slice   a quarter of an equal share of the whole run, at least 10 s where the share has them.
 *           It is the quantum, and the first turn of a build of which nothing is known.
 *   look    a half of a slice.  Known builds compete from the start by what is expected of them.
 *           When the time that is left gives each target without a turn just a look, these
 *           targets come first: a run must show of each target that it still fuzzes.
 *
 * A quantum takes three times its length by the clock on the wall at most, and just its length
 * when the time that is left would not give each target without a turn a slice.
 *
 * Pure. */
struct turns {
	uint64_t quantum_us;  /* as configured */
	uint64_t began_us;    /* the run's fuzzing */
	uint64_t deadline_us; /* the end of it; 0: none */
};

/* The wall time of each target's turn when all that wait get one before left_us is over: at most
 * most_us.  workers: at least 1; waiting: of those targets, with the next one. */
uint64_t turns_fair(uint64_t most_us, uint64_t left_us, unsigned workers, size_t waiting);

/* Sets the fleet's rules, and which targets have to have their turn now.  workers: cells at once,
 * as far as there is memory for them; at least 1. */
void turns_set(struct fleet *f, const struct turns *t, uint64_t now_us, unsigned workers);

#endif
