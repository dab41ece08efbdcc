/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_STRAYS_H
#define IMAGES_STRAYS_H

/* A crun that dies half way leaves children, which become ours (subreaper) without
 * our knowing their numbers.  Reaps those of this process's children that are dead
 * and belong, or belonged, to the control group of that name.  Call it when the
 * group's known children are reaped.  Returns how many of them are not dead yet. */
unsigned strays_reap(const char *group);

#endif
