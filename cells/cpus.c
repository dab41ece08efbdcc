/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/cpus.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/scan.h"
#include "base/sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned nth(const cpu_set_t *set, unsigned n)
{
	unsigned cpu = 0;

	while (!CPU_ISSET(cpu, set) || n-- > 0)
		cpu++;
	return cpu;
}

enum { STATUS_MAX = 16384 };

/* Counts a process that has one CPU.  A thread of the kernel has no memory, and does not count. */
static void count_process(const char *pid, uint32_t io[CPU_SETSIZE])
{
	static const char list[] = "\nCpus_allowed_list:\t";
	_autofree_ char *text = NULL;
	const char *at;
	char path[64];
	struct err e;
	uint64_t cpu;
	size_t n;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	if (fs_read(AT_FDCWD, path, STATUS_MAX, &text, &n, &e) < 0 || !strstr(text, "\nVmSize:"))
		return;
	at = strstr(text, list);
	if (at) {
		struct slice in = slice_of(at + strlen(list));

		if (scan_u64(&in, 10, CPU_SETSIZE - 1, &cpu) && scan_lit(&in, SLICE("\n")))
			io[cpu]++;
	}
}

/* The place, among our CPUs, of that which the fewest programs have alone. */
static unsigned quietest(const cpu_set_t *ours)
{
	uint32_t programs[CPU_SETSIZE] = {0};
	CLEANUP(closedir_p) DIR *d = sys_opendirat(AT_FDCWD, "/proc");
	unsigned n = (unsigned)CPU_COUNT(ours);
	unsigned best = (unsigned)getpid() % n; /* for hosts that begin at once */
	const struct dirent *de;

	while (d && (de = sys_readdir(d)))
		if (de->d_name[0] >= '1' && de->d_name[0] <= '9')
			count_process(de->d_name, programs);
	for (unsigned i = 0; i < n; i++)
		if (programs[nth(ours, i)] < programs[nth(ours, best)])
			best = i;
	return best;
}

int cpus_take(struct cpus *c)
{
	unsigned first, best;
	cpu_set_t ours;

	if (sched_getaffinity(0, sizeof(ours), &ours) < 0 || CPU_COUNT(&ours) < 2)
		return CPUS_ALL;
	if (!c->begun)
		c->next = quietest(&ours);
	c->begun = true;
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
