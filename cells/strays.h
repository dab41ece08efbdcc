/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_STRAYS_H
#define CELLS_STRAYS_H

#include <sys/types.h>

/* Reaps the children of this process that are dead and are or were in the control group of that
 * name, but not except (0: none).  Returns the number of such children that are still alive.
 *
 * crun leaves one child behind, or several when it dies during the start.  They become our children
 * (we are a subreaper), and we do not know their numbers. */
unsigned strays_reap(const char *group, pid_t except);

#endif
