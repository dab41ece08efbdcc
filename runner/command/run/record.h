/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_RUN_RECORD_H
#define RUNNER_COMMAND_RUN_RECORD_H

#include "base/loop.h"
#include "runner/state/state.h"
#include "runner/status/row.h"

/* What is left of a run on disk: summary.json, the targets' .stats, and the histories. */

/* At its end.  Each part is tried: one full disk must not hide the others. */
MUST_CHECK int record_run(struct state *s, const struct run_dirs *d, const struct run_view *v,
			  struct err *e);

/* One without an end: each day a line of each target that had a turn, as at the end, in a child
 * process.  What cannot be written is logged, and is in the next day's line. */
struct record_days {
	struct loop *loop;
	struct state *state;
	const struct run_view *view; /* while the child is made */
	uint64_t noted_us;	     /* of the run's time */
	struct task *task;
};
void record_second(struct record_days *d, const struct run_view *v);
/* Waits for the child. */
void record_days_done(struct record_days *d);

#endif
