/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUPS_STAT_H
#define CGROUPS_STAT_H

#include "base/scan.h"
#include "cgroups/cgroup.h"

/* Parses the text of the kernel's control files (Documentation/admin-guide/cgroup-v2.rst and
 * cgroup-v1/).  No I/O.  Each function returns false and leaves *ret unchanged when the text does
 * not have the format. */

/* "1234\n", or "max\n" as UINT64_MAX. */
bool cg_stat_number(struct slice text, uint64_t *ret);
/* The number after "key " at the start of a line (cpu.stat, memory.events, memory.oom_control,
 * cgroup.events, pids.events). */
bool cg_stat_keyed(struct slice text, struct slice key, uint64_t *ret);
/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull ...".  On older kernels cpu.pressure has
 * no "full" line; then the value is 0. */
bool cg_stat_pressure(struct slice text, struct cgroup_stall *ret);

#endif
