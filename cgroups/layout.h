/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUPS_LAYOUT_H
#define CGROUPS_LAYOUT_H

#include "base/err.h"
#include "base/scan.h"
#include "cgroups/cgroup.h"

/* Finds a machine's hierarchies and their mounts.  Parses text only, no I/O. */

/* The controllers for our limits. */
enum cg_controller { CG_MEMORY, CG_CPU, CG_PIDS, CG_CONTROLLER_COUNT };

const char *cg_controller_name(enum cg_controller c); /* "memory", "cpu", "pids" */

enum { CG_PATH_MAX = 1024, CG_HIERARCHIES_MAX = 1 + CG_CONTROLLER_COUNT };

struct cg_hierarchy {
	char mount[CG_PATH_MAX]; /* "/sys/fs/cgroup/memory" */
	char root[CG_PATH_MAX];	 /* the group that is mounted there: "/" or "/docker/x" */
	unsigned controllers;	 /* bits 1u << enum cg_controller; v2: those not on a v1 */
	bool v2;
};

struct cg_layout {
	enum cgroup_layout kind;
	struct cg_hierarchy h[CG_HIERARCHIES_MAX]; /* h[0] is the v2 tree */
	unsigned n;
};

/* Parses /proc/self/mountinfo (proc_pid_mountinfo(5)).  When a hierarchy has several mounts, the
 * first one counts, as in libcgroup.  -ENOTSUP: no v2 tree is mounted. */
MUST_CHECK int cg_layout_parse(struct slice mountinfo, struct cg_layout *ret, struct err *e);

/* Finds our own group in h from /proc/self/cgroup (cgroups(7)), as a path below the mount: "" for
 * the root, else "/a/b".  False: h has no line there, or our group is outside of the mount. */
bool cg_layout_own(struct slice proc_cgroup, const struct cg_hierarchy *h, char ret[CG_PATH_MAX]);

#endif
