/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_DUMP_H
#define RUNNER_RUN_JOB_DUMP_H

#include "base/clock.h"
#include "cells/cell.h"
#include "runner/engine/engine.h"

/* The forced dump: makes the engine write its input in work and end; -ESRCH: the job has ended.  1:
 * the engine was told, but the cell did not get the rest of its memory as it should; e says why.
 *
 * at_mark: the cell stands at its memory mark, and goes on for the dump.  It may take
 * DUMP_MARK_GRACE_US, however busy the machine is.  In the first half of it only the writing
 * thread runs. */
#define DUMP_MARK_GRACE_US (10 * USEC_PER_SEC)
MUST_CHECK int dump_input(struct cell *c, const struct engine_ops *engine,
			  const struct engine_state *s, bool at_mark, struct err *e);

/* At the mark, before that: the engine's watchdog, and nothing else, runs, looks at the memory and
 * reports.  A replay is named by such a report, and must not be named otherwise because the cell
 * came to its mark between two looks.  What has reported nothing within DUMP_WATCHDOG_US needs
 * dump_input().  -ESRCH: there is no watchdog. */
#define DUMP_WATCHDOG_US (2500 * USEC_PER_MSEC) /* it looks once a second */
MUST_CHECK int dump_by_watchdog(struct cell *c, struct err *e);

#endif
