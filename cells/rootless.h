/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_ROOTLESS_H
#define CELLS_ROOTLESS_H

#include "base/err.h"
#include "cgroups/cgroup.h"

#include <stdint.h>

/* Cells without root: what a machine may forbid to an ordinary user. */

/* A sysctl that decides on user namespaces, and the least value that will do. */
struct rootless_switch {
	const char *file; /* below /proc/sys; one that is not there forbids nothing */
	const char *name; /* for sysctl(8) */
	uint64_t least;
};

/* -EPERM: the switch, of which dirfd (/proc/sys) has the file, forbids them; the error
 * says what to set. */
MUST_CHECK int rootless_switch_check(int dirfd, const struct rootless_switch *s, struct err *e);

/* 0 for root, and where an ordinary user's cells can be tried.  -ENOTSUP, -EPERM: they
 * would all fail; the error says why.  (What else forbids namespaces, AppArmor say, is
 * told by crun for each cell: it may have a permission that we have not.) */
MUST_CHECK int rootless_check(enum cgroup_layout layout, struct err *e);

#endif
