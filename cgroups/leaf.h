/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUPS_LEAF_H
#define CGROUPS_LEAF_H

#include "base/err.h"

/* For a parent of processes that call cgroup_tree_open().  When its group is delegated, moves the
 * process into a leaf of that group; its later children start there, too.  Then the delegated group
 * has no processes of its own, and can be divided.  Does nothing on the hybrid layout, or when the
 * group is not delegated.  Call it before any child is started. */
MUST_CHECK int cgroup_leave(struct err *e);

#endif
