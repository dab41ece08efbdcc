/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CRASH_MARK_H
#define RUNNER_COMMAND_CRASH_MARK_H

#include "base/scan.h"
#include "runner/crash/report/report.h"

/* Finds the lines of a report that are frames of the application. Pass the lines in order; each
 * frame of r is found once, in its order. Starts as {r}. */
struct crash_mark {
	const struct crash_report *r;
	size_t next; /* the first frame not found so far */
};
bool crash_mark_line(struct crash_mark *m, struct slice line);

#endif
