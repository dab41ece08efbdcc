/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_SERIES_H
#define RUNNER_STATE_SERIES_H

#include "base/json.h"
#include "runner/state/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A target's curves in a run: logs/<run>/<target>.series.  Its first line is
 * {"v": 1, "target", "run", "started", "columns": [...]}, each other one a point: an array of
 * as many numbers.  Points come closely at first and seldom later: a day is 1,700 of them,
 * 150 KB.
 *
 * Columns: t (seconds since the run began), execs and cpu_seconds (sums of the target in this
 * run), cov, ft, corpus_units, corpus_bytes, rss_bytes (of its cell), pressure_cpu,
 * pressure_memory, pressure_io (share of the time since the point before in which all of the
 * cell waited). */

/* --- reading ------------------------------------------------------------------- */

/* As {"v", "target", "run", "started", "columns": [...], "points": [[...], ...]}, oldest first.
 * More than max_points (0: any number) are made fewer: of neighbours the last one
 * stays, with the most of their rss_bytes and pressures.  Damaged lines, such as a last one
 * that is being written, are passed over.  Needs no lock.
 * -ENOENT: there is none; -EINVAL: run or target is no such name; -EBADMSG: its first line
 * is damaged. */
MUST_CHECK int series_read(const struct state *s, const char *run, const char *target,
			   size_t max_points, json_t **ret, struct err *e);

#endif
