/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_FUZZED_H
#define RUNNER_STATE_FUZZED_H

#include "runner/state/state.h"

#include <stddef.h>
#include <stdint.h>

/* When each target was last fuzzed, over all runs: stats/last_fuzzed.json, target -> {...}.
 *   "fuzzed"        Unix seconds, or 0 for never
 *   "first", "seen" of the first and the last run that had the target
 *   "turn"          of the last run in which it did not wait until the end, or 0 for never
 *   "cov", "edges"  the most coverage that it reached, of a build with so many edges
 *   "grown"         of the last run that reached more, or had another build
 *
 * A target that does not build, does not start or is gone is silent.  To users that only wait for
 * crashes this looks like health. */

struct fuzzed_target {
	const char *name;
	bool fuzzed;	     /* in this run */
	bool waited;	     /* the run ended before its turn */
	uint64_t cov, edges; /* reached, and instrumented */
};

/* Notes a run that ended at `now`.  A damaged file is replaced: the next runs restore most of it.
 * Targets that no run had for FUZZED_FORGET_S are forgotten. */
enum { FUZZED_FORGET_S = 180 * 86400 };
MUST_CHECK int fuzzed_note(struct state *s, const struct fuzzed_target *v, size_t n, uint64_t now,
			   struct err *e);

/* Calls fn with each target that was not fuzzed in the last silent_s seconds, and since when.  A
 * target that was never fuzzed counts from when it was first seen.  A result of fn other than 0
 * ends the walk. */
typedef int fuzzed_fn(void *arg, const char *target, uint64_t since, struct err *e);
MUST_CHECK int fuzzed_silent(const struct state *s, uint64_t now, uint64_t silent_s, fuzzed_fn *fn,
			     void *arg, struct err *e);

/* Calls fn with each target that any run had and that is not forgotten; writes nothing.  Times are
 * Unix seconds, fuzzed and turn 0: never. */
struct fuzzed_times {
	const char *target;
	uint64_t fuzzed, first, seen, turn;
	uint64_t grown; /* 0: not known */
};
typedef int fuzzed_each_fn(void *arg, const struct fuzzed_times *t, struct err *e);
MUST_CHECK int fuzzed_each(const struct state *s, fuzzed_each_fn *fn, void *arg, struct err *e);

/* All of the file, as a new object; without the file it is empty. */
MUST_CHECK int fuzzed_all(const struct state *s, json_t **ret, struct err *e);
/* Adds what another machine knows (`from` may be NULL, and is not trusted): of each target the
 * latest times, the first sight, and the newest growth. */
void fuzzed_fold(json_t *all, json_t *from);

#endif
