/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_SUMMARY_H
#define RUNNER_STATUS_SUMMARY_H

#include "base/buf.h"
#include "base/json.h"
#include "runner/status/row.h"

/* The summary at the end of a run, for users and for programs. */

/* The text for users: a table, then the targets that need attention.  Targets' text is made
 * printable.  Lines longer than `columns` are wrapped; those of the table are cut.  columns: at
 * least 40; 0: unlimited. */
MUST_CHECK int summary_text(const struct run_view *v, unsigned columns, bool color, struct buf *out,
			    struct err *e);
/* logs/<run>/summary.json: one object, with one line for each element of "targets". */
MUST_CHECK int summary_print(const struct run_view *v, struct buf *out, struct err *e);
/* The same without "targets". */
json_t *summary_run_json(const struct run_view *v);
/* logs/<run>/<target>.stats */
json_t *summary_target_json(const struct target_row *r);

/* The run's line in run_history.jsonl: summary_run_json() with the number of targets and sums
 * over them, like history_lean(). */
json_t *summary_run_line(const struct run_view *v);
/* A target's line in stats/targets/: summary_target_json() with "run", "ended" (from real_us)
 * and "commit" (null if its binary came later).  It has no names of artifacts, and of the
 * crashes only their number. */
json_t *summary_target_line(const struct run_view *v, const struct target_row *r, uint64_t real_us);

/* The run ended before the target's turn, and there is nothing else to report. */
bool summary_waited(const struct target_row *r);
/* The number of targets that do not count as fuzzed. */
size_t summary_unfuzzed(const struct run_view *v);
/* The number of targets that were fuzzed and then given up. */
size_t summary_given_up(const struct run_view *v);
/* Sums over all targets. */
struct summary_sums {
	uint64_t failures;
	uint64_t crashes_new;	   /* new in at least one target */
	uint64_t regressed, fixed; /* came back in this run; found fixed in this run */
	uint64_t untriaged;	   /* artifacts that were not triaged */
};
struct summary_sums summary_sums(const struct run_view *v);

#endif
