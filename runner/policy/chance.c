/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/policy/chance.h"

#include <math.h>
#include <stdlib.h>

void chance_seed(struct chance *c, uint64_t seed)
{
	for (int i = 0; i < 3; i++)
		c->state[i] = (unsigned short)(seed >> (16 * i) ^ seed >> 48);
	for (int i = 0; i < 8; i++) /* similar seeds begin with similar numbers */
		(void)erand48(c->state);
}

double chance_uniform(struct chance *c)
{
	double u;

	do
		u = erand48(c->state);
	while (u <= 0);
	return u;
}

double chance_exponential(struct chance *c)
{
	return -log(chance_uniform(c));
}

/* Box and Muller. */
static double normal(struct chance *c)
{
	return sqrt(2 * chance_exponential(c)) * cos(2 * M_PI * chance_uniform(c));
}

/* Marsaglia and Tsang, "A simple method for generating gamma variables" (2000). */
double chance_gamma(struct chance *c, double shape)
{
	double d = shape - 1.0 / 3, k = 1 / sqrt(9 * d), x, v;

	if (shape < 1) /* their section 6 */
		return chance_gamma(c, shape + 1) * pow(chance_uniform(c), 1 / shape);
	do {
		x = normal(c);
		v = 1 + k * x;
		v = v * v * v;
	} while (v <= 0 || log(chance_uniform(c)) >= 0.5 * x * x + d - d * v + d * log(v));
	return d * v;
}
