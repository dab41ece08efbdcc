/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_ROOT_H
#define IMAGES_ROOT_H

#include "base/cleanup.h"
#include "base/err.h"
#include "images/spec.h"

#include <stdbool.h>

/* A cell's root directory: a skeleton of empty mount points, one for each cell,
 * read-only inside.  Its parts come from the host or from a given directory and
 * are bound over it, so that neither is ever written, and mount points need not
 * exist there. */

enum { ROOT_PARTS_MAX = 64 };

struct root_part {
	char *path;   /* in the cell: "/usr" */
	char *source; /* host path that is bound there, read-only; NULL: */
	char *link;   /* ...a symbolic link to this */
	bool dir;
};

struct root_plan {
	struct root_part part[ROOT_PARTS_MAX];
	size_t n;
	bool etc; /* an /etc of ours, with root as the only user and group */
};

/* rootfs NULL: the host's /usr, with bin, lib* and sbin as the host has them, and
 * of its /etc the dynamic linker's cache and the alternatives that libraries go
 * through.  Else: all directories and links at the top of rootfs but dev, proc,
 * run, sys and tmp. */
MUST_CHECK int root_plan_new(const char *rootfs, struct root_plan **ret, struct err *e);
void root_plan_free(struct root_plan *p); /* NULL is fine */
DEFINE_CLEANUP(struct root_plan *, root_plan_free)

/* The part that holds an absolute path ("/usr/lib" is held by "/usr"), or NULL. */
const struct root_part *root_plan_holds(const struct root_plan *p, const char *path);

/* Makes dirfd/name with everything that mounts of plan and spec need.  Refuses
 * targets that are no plain absolute path, that lie in /proc or /sys, or that
 * neither can be made nor exist. */
MUST_CHECK int root_build(int dirfd, const char *name, const struct root_plan *p,
			  const struct cell_spec *spec, struct err *e);

#endif
