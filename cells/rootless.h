/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_ROOTLESS_H
#define CELLS_ROOTLESS_H

#include "base/err.h"
#include "cgroups/cgroup.h"

#include <stdint.h>

/* Checks whether a machine allows cells without root. */

/* A sysctl that controls user namespaces, and its smallest sufficient value. */
struct rootless_switch {
	const char *file; /* below /proc/sys; a missing file forbids nothing */
	const char *name; /* for sysctl(8) */
	uint64_t least;
};

/* dirfd is /proc/sys.  -EPERM: the sysctl forbids user namespaces; the error says what to set. */
MUST_CHECK int rootless_switch_check(int dirfd, const struct rootless_switch *s, struct err *e);

/* 0: we are root, or nothing known prevents cells of an ordinary user.  -ENOTSUP, -EPERM: all cells
 * would fail; the error says why.  Other restrictions, such as AppArmor, are reported by crun for
 * each cell: crun may have a permission that we do not have. */
MUST_CHECK int rootless_check(enum cgroup_layout layout, struct err *e);

#endif
