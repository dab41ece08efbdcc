/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUPS_STAT_H
#define CGROUPS_STAT_H

#include "base/scan.h"
#include "cgroups/cgroup.h"

/* The kernel's control files as text (Documentation/admin-guide/cgroup-v2.rst
 * and cgroup-v1/): no I/O.  Each returns false and leaves *ret as it was when
 * the text is not that. */

/* "1234\n", or "max\n" as UINT64_MAX. */
bool cg_stat_number(struct slice text, uint64_t *ret);
/* The number behind "key " at the start of a line (cpu.stat, memory.events,
 * memory.oom_control, cgroup.events, pids.events). */
bool cg_stat_keyed(struct slice text, struct slice key, uint64_t *ret);
/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull ...": cpu.pressure has
 * no full line on older kernels; it counts as 0. */
bool cg_stat_pressure(struct slice text, struct cgroup_stall *ret);

#endif
