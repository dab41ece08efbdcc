/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/cpus.h"

int cpus_take(struct cpus *c)
{
	int best = CPUS_ALL;
	cpu_set_t ours;

	if (sched_getaffinity(0, sizeof(ours), &ours) < 0 || CPU_COUNT(&ours) < 2)
		return CPUS_ALL;
	for (unsigned i = 0; i < CPU_SETSIZE; i++) {
		unsigned cpu = (c->next + i) % CPU_SETSIZE;

		if (CPU_ISSET(cpu, &ours) && (best < 0 || c->cells[cpu] < c->cells[best]))
			best = (int)cpu;
	}
	c->cells[best]++;
	c->next = (unsigned)best + 1;
	return best;
}

void cpus_give(struct cpus *c, int cpu)
{
	if (cpu != CPUS_ALL)
		c->cells[cpu]--;
}
