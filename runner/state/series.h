/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_SERIES_H
#define RUNNER_STATE_SERIES_H

#include "base/json.h"
#include "runner/state/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A target's curves in a run: logs/<run>/<target>.series.  The first line of the file is {"v": 1,
 * "target", "run", "started", "columns": [...]}.  Each other line is a point: an array of as many
 * numbers.  The interval between points grows: a day has 1,700 points, 150 KB.
 *
 * Columns: t (seconds since the run began), execs and cpu_seconds (sums of the target in this run),
 * cov, ft, corpus_units, corpus_bytes, rss_bytes (of its cell), pressure_cpu, pressure_memory,
 * pressure_io (share of the time since the point before in which all of the cell waited). */

/* --- writing, by the run ------------------------------------------------------- */

/* The target and the run of a file. */
struct series_of {
	const char *target, *run;
	uint64_t started_real_us; /* of the run */
};

struct series_point {
	uint64_t t_us; /* since the run began */
	uint64_t execs, cov, ft, corpus_units, corpus_bytes, rss, cpu_us;
};

/* All zero: not begun.  It owns no memory. */
struct series {
	uint64_t wall_us, stalled_us[3]; /* cpu, memory, io; since the last point */
	uint64_t at_us;			 /* t_us of the last point */
	uint64_t written;		 /* bytes; 0: the file does not exist yet */
	struct series_point kept;	 /* a point that came too early */
	bool has_kept;
	bool cut; /* the file may end within a line */
};

/* Adds a cell's lifetime, and the part of it in which all of the cell waited. */
void series_stalled(struct series *s, uint64_t wall_us, const uint64_t stalled_us[3]);

/* Writes a point if the interval since the last one is over: t / 240, from one second to five
 * minutes.  end: the last point of a cell.  A quarter of the interval is enough for it; before that
 * it is kept for series_flush().
 *
 * logs: the directory logs/<run>.  One write(2), without sync.  A failed write is ignored; the next
 * point is written as usual. */
void series_take(struct series *s, int logs, const struct series_of *of,
		 const struct series_point *p, bool end);
/* Writes the kept point, unless a newer one was written.  Call it when no more points may come. */
void series_flush(struct series *s, int logs, const struct series_of *of);

/* --- reading ------------------------------------------------------------------- */

/* Reads a series as {"v", "target", "run", "started", "columns": [...], "points": [[...], ...]},
 * oldest point first.  If there are more than max_points (0: no limit), neighbours are joined: the
 * last one stays, with the greatest of their rss_bytes and pressures.  Damaged lines, such as a
 * line that is being written, are skipped.  Needs no lock.  -ENOENT: there is none; -EINVAL: the
 * run's or target's name is invalid; -EBADMSG: the first line is damaged. */
MUST_CHECK int series_read(const struct state *s, const char *run, const char *target,
			   size_t max_points, json_t **ret, struct err *e);
/* The same from a file's text. */
MUST_CHECK int series_parse(struct slice text, size_t max_points, json_t **ret, struct err *e);

/* The targets of a run that left no summary, the first max by name.  Each is {"name", "reason":
 * "unfinished"} with the values of its series' last point: "execs", "cov", "ft", "corpus_units",
 * "cpu_seconds" and "execs_per_cpu_second". */
MUST_CHECK int series_left(const struct state *s, const char *run, size_t max, json_t **ret,
			   struct err *e);

#endif
