/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUPS_LEAF_H
#define CGROUPS_LEAF_H

#include "base/err.h"

/* For a process that starts others which open a tree (cgroup_tree_open): when the group
 * that it is in was delegated to it, moves it into that group's leaf, and with it
 * whatever it starts from now on, so that nobody is beside them in the group that
 * they divide.  Elsewhere (hybrid layout, a group that is not ours to divide) it does
 * nothing.  Call it before anything is started. */
MUST_CHECK int cgroup_leave(struct err *e);

#endif
