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

/* --- writing, by the run ------------------------------------------------------- */

/* What the file is of. */
struct series_of {
	const char *target, *run;
	uint64_t started_real_us; /* of the run */
};

struct series_point {
	uint64_t t_us; /* since the run began */
	uint64_t execs, cov, ft, corpus_units, corpus_bytes, rss, cpu_us;
};

/* Zeroed it has not begun; it holds nothing that would have to be freed. */
struct series {
	uint64_t wall_us, stalled_us[3]; /* cpu, memory, io: since the last point */
	uint64_t at_us;			 /* t_us of that */
	uint64_t written;		 /* bytes; 0: there is no file of ours yet */
	struct series_point kept;	 /* came too early */
	bool has_kept;
	bool cut; /* the file may end within a line */
};

/* A cell was there for so long, and stood still for so much of it. */
void series_stalled(struct series *s, uint64_t wall_us, const uint64_t stalled_us[3]);

/* A point, when it is time for one: a 240th of t after the one before, at least a second and at
 * most five minutes.  end: a cell's last, for which a quarter of that will do; one that comes
 * too early even so is kept for series_flush().
 *
 * logs: the directory logs/<run>.  One write(2), without sync.  What cannot be written is left out
 * and stops nobody; the next point is tried again. */
void series_take(struct series *s, int logs, const struct series_of *of,
		 const struct series_point *p, bool end);
/* There may come no more: what was kept, unless a newer one was written. */
void series_flush(struct series *s, int logs, const struct series_of *of);

/* --- reading ------------------------------------------------------------------- */

/* As {"v", "target", "run", "started", "columns": [...], "points": [[...], ...]}, oldest first.
 * More than max_points (0: any number) are made fewer: of neighbours the last one
 * stays, with the most of their rss_bytes and pressures.  Damaged lines, such as a last one
 * that is being written, are passed over.  Needs no lock.
 * -ENOENT: there is none; -EINVAL: run or target is no such name; -EBADMSG: its first line
 * is damaged. */
MUST_CHECK int series_read(const struct state *s, const char *run, const char *target,
			   size_t max_points, json_t **ret, struct err *e);
/* The same from a file's text. */
MUST_CHECK int series_parse(struct slice text, size_t max_points, json_t **ret, struct err *e);

/* The targets of a run that left no summary, the first max by name: of each {"name",
 * "reason": "unfinished"} and, as the last point of its series says, "execs", "cov", "ft",
 * "corpus_units", "cpu_seconds" and "execs_per_cpu_second". */
MUST_CHECK int series_left(const struct state *s, const char *run, size_t max, json_t **ret,
			   struct err *e);

#endif
