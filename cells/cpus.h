/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_CPUS_H
#define CELLS_CPUS_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* How many cells of a host were given each CPU (cell_spec.one_cpu).  Zeroed: none. */
struct cpus {
	uint32_t cells[CPU_SETSIZE];
	bool begun;
	unsigned next; /* the search begins at the next-th of our CPUs, modulo their number */
};

enum { CPUS_ALL = -1 };

/* Takes the CPU with the fewest cells, of those that this process may use.  Of equals, the first is
 * that which the fewest programs of this machine have alone, as cells of other hosts do; then
 * they take turns.  CPUS_ALL: this process has only one CPU, or the kernel does not say.  Give the
 * result to cpus_give() once. */
int cpus_take(struct cpus *c);
void cpus_give(struct cpus *c, int cpu);

#endif
