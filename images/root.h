/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_ROOT_H
#define IMAGES_ROOT_H

#include "base/cleanup.h"
#include "base/err.h"
#include "images/spec.h"

#include <stdbool.h>

/* A cell's root directory: empty mount points, one directory for each cell, read-only inside.  Its
 * parts are bind mounts from the host or from a given directory.  So neither of them is ever
 * written, and they need no mount points. */

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

/* With rootfs: all directories, files and links at its top, except dev, proc, run, sys and tmp.
 * With NULL: the host's /usr, and bin, lib* and sbin as on the host.  From the host's /etc it takes
 * only the dynamic linker's configuration and the alternatives, which libraries need. */
MUST_CHECK int root_plan_new(const char *rootfs, struct root_plan **ret, struct err *e);
void root_plan_free(struct root_plan *p); /* NULL is fine */
DEFINE_CLEANUP(struct root_plan *, root_plan_free)

/* The part that contains an absolute path ("/usr" contains "/usr/lib"), or NULL. */
const struct root_part *root_plan_holds(const struct root_plan *p, const char *path);

/* Makes dirfd/name with all mount points for plan and spec.  Refuses targets that are no plain
 * absolute path, that are in /proc or /sys, or that do not exist and cannot be made. */
MUST_CHECK int root_build(int dirfd, const char *name, const struct root_plan *p,
			  const struct cell_spec *spec, struct err *e);

#endif
