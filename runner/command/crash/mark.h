/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CRASH_MARK_H
#define RUNNER_COMMAND_CRASH_MARK_H

#include "base/scan.h"
#include "runner/crash/report/report.h"

/* Which lines of a report are the application's frames?  Lines go in, one after the
 * other; each frame of r is found once, in its order.  Starts as {r}. */
struct crash_mark {
	const struct crash_report *r;
	size_t next; /* the first frame that was not found yet */
};
bool crash_mark_line(struct crash_mark *m, struct slice line);

#endif
