/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_FRAME_RULES_H
#define RUNNER_CRASH_REPORT_FRAME_RULES_H

#include "runner/crash/report/frame.h"

/* Which frames say nothing about a bug: sanitizer runtimes, engines, C libraries,
 * what aborts, allocates or copies for everybody.  The rules are in frame_rules.inc. */
enum frame_view {
	FRAME_VIEW_STATE = 1, /* the big platforms' three-frame state */
	FRAME_VIEW_OWN = 2,   /* our own frames and signatures */
	FRAME_VIEW_WIDE = 4,  /* the same with the C++ library, when nothing else is left */
	/* Functions that report a failure of their caller: frames without a name above them
	 * are theirs, too. */
	FRAME_VIEW_REPORTER = 8,
};

bool frame_ignored(const struct frame *f, enum frame_view view);

#endif
