/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_CHANCE_H
#define RUNNER_POLICY_CHANCE_H

#include <stdint.h>

/* A reproducible random number generator: the same seed gives the same numbers. */
struct chance {
	unsigned short state[3]; /* of erand48(3) */
};

void chance_seed(struct chance *c, uint64_t seed);
double chance_uniform(struct chance *c);     /* above 0, below 1 */
double chance_exponential(struct chance *c); /* mean 1 */
/* A gamma-distributed number with scale 1 and this shape, which is at least 0.5. */
double chance_gamma(struct chance *c, double shape);

#endif
