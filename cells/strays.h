/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_STRAYS_H
#define CELLS_STRAYS_H

#include <sys/types.h>

/* crun leaves children behind when it dies half way, and one when it does not; they
 * become ours (subreaper) without our knowing their numbers.  Reaps those of this
 * process's children that are dead and belong, or belonged, to the control group of
 * that name, but not except (0: none).  Returns how many are not dead yet. */
unsigned strays_reap(const char *group, pid_t except);

#endif
