/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_FRAME_RULES_H
#define RUNNER_CRASH_REPORT_FRAME_RULES_H

#include "runner/crash/report/frame.h"

/* Selects the frames that do not identify a bug: sanitizer runtimes, engines, C libraries, and
 * functions that abort, allocate or copy for all callers.  The rules are in frame_rules.inc. */
enum frame_view {
	FRAME_VIEW_STATE = 1, /* the big platforms' three-frame state */
	FRAME_VIEW_OWN = 2,   /* our own frames and signatures */
	FRAME_VIEW_WIDE = 4,  /* the same plus frames of the C++ library, if nothing else is left */
	/* Functions that report a failure of their caller.  Frames without a name above them belong
	 * to them, too. */
	FRAME_VIEW_REPORTER = 8,
};

bool frame_ignored(const struct frame *f, enum frame_view view);

#endif
