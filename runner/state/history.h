/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_HISTORY_H
#define RUNNER_STATE_HISTORY_H

#include "runner/state/state.h"

#include <stddef.h>

/* Reads what state_append_history() wrote: the newest HISTORY_READ_MAX bytes, line by line, oldest
 * first.  It needs no lock: an incomplete last line is skipped.
 *
 * name: below stats/, "run_history.jsonl" or of history_target_name().  A missing history has no
 * lines.  ret_damaged: the number of lines that are not a JSON object; they are skipped. */
#define HISTORY_READ_MAX (UINT64_C(64) << 20)

/* line: a JSON object.  A result other than 0 ends the walk, and history_each() returns it. */
typedef int history_fn(void *arg, const json_t *line, struct err *e);
MUST_CHECK int history_each(const struct state *s, const char *name, history_fn *fn, void *arg,
			    uint64_t *ret_damaged, struct err *e);

/* The newest n lines in a new array, oldest first.  It reads only the necessary part of the file,
 * from the end; ret_damaged counts only that part.
 *
 * Lines of runs are lean (history_lean()), also the line of a recovered run, which holds all
 * targets. */
MUST_CHECK int history_last(const struct state *s, const char *name, size_t n, json_t **ret,
			    uint64_t *ret_damaged, struct err *e);

/* Makes a run's object (of summary.json) lean, in place.  The array "targets" becomes its length.
 * Totals of the targets are added: "fuzzed" (how many were), "cpu_seconds", "execs", "new_inputs"
 * (sums).  Other objects stay unchanged. */
void history_lean(json_t *run);

/* "targets/<target>.jsonl", in a new string (free() it).  It has a line for each run in which the
 * target had a turn, and for each day of a continuous run.  -EINVAL: not a valid target name. */
MUST_CHECK int history_target_name(const char *target, char **ret, struct err *e);

#endif
