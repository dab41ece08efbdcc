/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_RUN_RECORD_H
#define RUNNER_COMMAND_RUN_RECORD_H

#include "base/loop.h"
#include "runner/state/state.h"
#include "runner/status/row.h"

/* The files that record a run: summary.json, the targets' .stats, and the histories. */

/* Writes the files at the end of a run. After an error, still writes the other files. */
MUST_CHECK int record_run(struct state *s, const struct run_dirs *d, const struct run_view *v,
			  struct err *e);

/* For a run without an end: appends a history line per day for each target that had a turn, in a
 * child process. If writing fails, the error is logged, and the next day's line has the data. */
struct record_days {
	struct loop *loop;
	struct state *state;
	const struct run_view *view; /* valid while the child is started */
	uint64_t noted_us;	     /* run time of the last line */
	struct task *task;
};
void record_second(struct record_days *d, const struct run_view *v);
/* Waits for the child. */
void record_days_done(struct record_days *d);

#endif
