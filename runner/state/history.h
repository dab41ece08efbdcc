/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_HISTORY_H
#define RUNNER_STATE_HISTORY_H

#include "runner/state/state.h"

#include <stddef.h>

/* Reading what state_append_history() wrote: the newest HISTORY_READ_MAX bytes of it,
 * line by line, oldest first.  Nobody's lock is needed: a line that is being
 * written is one that is cut.
 *
 * name: below stats/, "run_history.jsonl" or of history_target_name().  A history that is not
 * there has no lines.  ret_damaged: lines that are no JSON object; they are passed over. */
#define HISTORY_READ_MAX (UINT64_C(64) << 20)

/* line: a JSON object.  Non-zero ends it: that is what history_each() returns. */
typedef int history_fn(void *arg, const json_t *line, struct err *e);
MUST_CHECK int history_each(const struct state *s, const char *name, history_fn *fn, void *arg,
			    uint64_t *ret_damaged, struct err *e);

/* The newest n lines in a new array, oldest first.  Reads from the end, and of the file no more
 * than that needs; ret_damaged counts in that part.
 *
 * Lines of runs are lean (history_lean()), also those of earlier versions of fuzzcell, which
 * held all targets. */
MUST_CHECK int history_last(const struct state *s, const char *name, size_t n, json_t **ret,
			    uint64_t *ret_damaged, struct err *e);

/* A run's object, summary.json's, in place: the array "targets" becomes their number, and what
 * is asked of all of them: "fuzzed" (how many were), "cpu_seconds", "execs", "new_inputs" (sums).
 * Others are left as they are. */
MUST_CHECK int history_lean(json_t *run, struct err *e);

/* "targets/<target>.jsonl", in a new string (free() it): a line for each run in which it had a
 * turn, and for each day of a continuous one.  -EINVAL: it is no name of a target. */
MUST_CHECK int history_target_name(const char *target, char **ret, struct err *e);

#endif
