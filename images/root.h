/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_ROOT_H
#define IMAGES_ROOT_H

#include "base/cleanup.h"
#include "base/err.h"
#include "images/spec.h"

#include <stdbool.h>

/* The root directory of a cell.  Each cell has a root directory of its own, read-only inside the
 * cell.  The directory contains only empty mount points, symbolic links and, without
 * cell_spec.rootfs, a small /etc.  The parts of the root are bind mounts from the host, or from
 * rootfs.  So fuzzcell writes neither to these host directories nor to rootfs. */

enum { ROOT_PARTS_MAX = 64 };

/* A part of the root: a bind mount, or a symbolic link. */
struct root_part {
	char *path; /* of the part in the cell: "/usr" */
	/* A bind mount: the path on the host that is bound to `path`, read-only.  NULL: the part is
	 * a symbolic link. */
	char *source;
	/* A symbolic link: the text of the link.  NULL: the part is a bind mount. */
	char *link;
	bool dir; /* source is a directory; false: a file, or the part is a link */
};

struct root_plan {
	struct root_part part[ROOT_PARTS_MAX];
	size_t n;
	bool etc; /* the cell gets an /etc of ours, with root as the only user and group */
};

/* Lists the parts of a root.
 *
 * With rootfs: all directories, files and links at the top of rootfs, except dev, proc, run, sys
 * and tmp.  -EPERM: we are root, and another user can exchange rootfs.
 *
 * With NULL: the host's /usr, and the host's /bin, /lib* and /sbin (directories or links).  Of the
 * host's /etc, the root has only the dynamic linker's configuration and the alternatives, which
 * libraries need. */
MUST_CHECK int root_plan_new(const char *rootfs, struct root_plan **ret, struct err *e);
void root_plan_free(struct root_plan *p); /* NULL is fine */
DEFINE_CLEANUP(struct root_plan *, root_plan_free)

/* Makes the root directory dirfd/name with all mount points for the parts of p and the mounts of
 * spec.  Refuses a mount target that is not a plain absolute path, that is in /proc or /sys, or
 * that does not exist and cannot be made (inside a part of the root). */
MUST_CHECK int root_build(int dirfd, const char *name, const struct root_plan *p,
			  const struct cell_spec *spec, struct err *e);

#endif
