/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_DUMP_H
#define RUNNER_RUN_JOB_DUMP_H

#include "base/clock.h"
#include "cells/cell.h"
#include "runner/engine/engine.h"

/* The forced dump: makes the engine write its input in work and end.  -ESRCH: the cell has ended.
 * 1: the signal was sent, but the cell did not get the rest of its memory; e says why.
 *
 * at_mark: the cell is halted at its memory mark, and goes on for the dump.  The dump may take
 * DUMP_MARK_GRACE_US, also on an oversubscribed machine.  In the first half of that time only the
 * writing thread runs. */
#define DUMP_MARK_GRACE_US (10 * USEC_PER_SEC)
MUST_CHECK int dump_input(struct cell *c, const struct engine_ops *engine,
			  const struct engine_state *s, bool at_mark, struct err *e);

/* The first step at the mark, before dump_input(): only the engine's watchdog runs, checks the
 * memory and reports.  A replay's crash is named by that report.  Its name must not depend on
 * whether the cell came to its mark between two checks.  If there is no report within
 * DUMP_WATCHDOG_US, dump_input() is next.  -ESRCH: there is no watchdog. */
#define DUMP_WATCHDOG_US (2500 * USEC_PER_MSEC) /* the watchdog checks once a second */
MUST_CHECK int dump_by_watchdog(struct cell *c, struct err *e);

#endif
