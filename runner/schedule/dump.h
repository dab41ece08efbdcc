/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SCHEDULE_DUMP_H
#define RUNNER_SCHEDULE_DUMP_H

#include "base/clock.h"
#include "images/cell.h"
#include "runner/engine/engine.h"

/* The forced dump: makes the engine write its input in work and end; -ESRCH: the job has ended.
 *
 * at_mark: the cell stands at its memory mark, and goes on for this.  Then it may take
 * DUMP_MARK_GRACE_US, however busy the machine is; for the first half of it only the thread runs
 * that writes. */
#define DUMP_MARK_GRACE_US (10 * USEC_PER_SEC)
MUST_CHECK int dump_input(struct cell *c, const struct engine_ops *engine,
			  const struct engine_state *s, bool at_mark, struct err *e);

#endif
