/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_MODULES_H
#define RUNNER_RUN_JOB_MODULES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The programs and libraries of a process, from the kernel's list of files that it maps for
 * execution.  Files from dlopen(3) are included.  They do not depend on the
 * process's output. */
enum { MODULES_MAX = 256, MODULES_TEXT_MAX = 8 << 20 };

enum modules_look {
	MODULES_COUNTED, /* ret: edges that all of these files can count */
	MODULES_UNKNOWN, /* a file's sections cannot be read, or no file has counters */
	MODULES_GONE,	 /* the process's files cannot be read, or exceed our bounds */
};
/* pid: a process of a cell.  The call blocks while it reads a few tables of each file. */
enum modules_look modules_edges(pid_t pid, uint64_t *ret);

/* The files that /proc/PID/maps lists as mapped for execution, each once.  The text is cut at
 * the ends of their names.  MODULES_MAX + 1: there are more. */
size_t modules_in(char *maps, const char *ret[MODULES_MAX]);

#endif
