/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/cpus.h"

static unsigned nth(const cpu_set_t *set, unsigned n)
{
	unsigned cpu = 0;

	while (!CPU_ISSET(cpu, set) || n-- > 0)
		cpu++;
	return cpu;
}

int cpus_take(struct cpus *c)
{
	unsigned first, best;
	cpu_set_t ours;

	if (sched_getaffinity(0, sizeof(ours), &ours) < 0 || CPU_COUNT(&ours) < 2)
		return CPUS_ALL;
	first = best = nth(&ours, c->next++ % (unsigned)CPU_COUNT(&ours));
	for (unsigned i = 1; i < CPU_SETSIZE; i++) {
		unsigned cpu = (first + i) % CPU_SETSIZE;

		if (CPU_ISSET(cpu, &ours) && c->cells[cpu] < c->cells[best])
			best = cpu;
	}
	c->cells[best]++;
	return (int)best;
}

void cpus_give(struct cpus *c, int cpu)
{
	if (cpu != CPUS_ALL)
		c->cells[cpu]--;
}
