/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_SUMMARY_H
#define RUNNER_STATUS_SUMMARY_H

#include "base/buf.h"
#include "base/json.h"
#include "runner/status/row.h"

/* The end of a run, for people and for programs. */

/* What a user reads: a table, then what needs attention.  Target text is printable.  No line is
 * longer than columns, and none but the table's is cut: it goes on below.  columns: at least 40;
 * 0: as wide as it takes. */
MUST_CHECK int summary_text(const struct run_view *v, unsigned columns, bool color, struct buf *out,
			    struct err *e);
/* logs/<run>/summary.json: one object, in which each target is a line of "targets". */
MUST_CHECK int summary_print(const struct run_view *v, struct buf *out, struct err *e);
/* That without "targets". */
MUST_CHECK int summary_run_json(const struct run_view *v, json_t **ret, struct err *e);
/* logs/<run>/<target>.stats */
MUST_CHECK int summary_target_json(const struct target_row *r, json_t **ret, struct err *e);

/* The run's line in run_history.jsonl: summary_run_json(), of the targets their number, and sums
 * (as history_lean() makes them of older lines). */
MUST_CHECK int summary_run_line(const struct run_view *v, json_t **ret, struct err *e);
/* A target's line in stats/targets/: summary_target_json() with "run", "ended" (real_us: when
 * this was so) and "commit" (null when its binary came later), without the names of artifacts;
 * of crashes only their number. */
MUST_CHECK int summary_target_line(const struct run_view *v, const struct target_row *r,
				   uint64_t real_us, json_t **ret, struct err *e);

/* The run was over before its turn came, and nothing else is to be said of it. */
bool summary_waited(const struct target_row *r);
/* Targets of which it cannot be said that they were fuzzed. */
size_t summary_unfuzzed(const struct run_view *v);
/* The number of targets that were fuzzed and then given up. */
size_t summary_given_up(const struct run_view *v);
/* Of all targets. */
struct summary_sums {
	uint64_t failures;
	uint64_t crashes_new;	   /* new in one of its targets */
	uint64_t regressed, fixed; /* crashes that came back, and that are fixed since this run */
	uint64_t untriaged;	   /* artifacts of which it is not known what they are */
};
struct summary_sums summary_sums(const struct run_view *v);

#endif
