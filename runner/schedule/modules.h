/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SCHEDULE_MODULES_H
#define RUNNER_SCHEDULE_MODULES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The programs and libraries that a process really has: what the kernel says that it maps for
 * execution, also what it opened by dlopen(3).  Nothing that the process says is asked. */
enum { MODULES_MAX = 256, MODULES_TEXT_MAX = 8 << 20 };

enum modules_look {
	MODULES_COUNTED, /* *ret: edges that all of them can count */
	MODULES_UNKNOWN, /* the sections of one cannot be read, or none has any counters */
	MODULES_GONE,	 /* the process cannot be looked at, or has more than our bounds */
};
/* pid: of a cell.  Blocks for as long as reading a few tables of each file takes. */
enum modules_look modules_edges(pid_t pid, uint64_t *ret);

/* The files that a /proc/PID/maps has mapped for execution, each once; text is cut at the ends of
 * their names.  MODULES_MAX + 1: there are more. */
size_t modules_in(char *maps, const char *ret[MODULES_MAX]);

#endif
