/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_FUZZED_H
#define RUNNER_STATE_FUZZED_H

#include "runner/state/state.h"

#include <stddef.h>
#include <stdint.h>

/* When each target was last really fuzzed, over all runs: stats/last_fuzzed.json, target
 * -> {"fuzzed": Unix seconds, or 0 for never, "first" and "seen": of the first and the last run
 * that had it, "turn": of the last run that did not make it wait until its end, or 0 for never,
 * "cov" and "edges": the most that it reached of a build with so many, "grown": of the last run
 * that reached more, or was of another build}.  A target of which nothing is heard (it does not
 * build, it does not start, it is gone) is silent, which looks like health to whoever only waits
 * for crashes. */

struct fuzzed_target {
	const char *name;
	bool fuzzed;	     /* in this run */
	bool waited;	     /* this run was over before its turn came */
	uint64_t cov, edges; /* reached, and instrumented */
};

/* A run ended at `now`.  A damaged file is begun anew: what is fuzzed is soon known again.
 * Targets that no run has had for FUZZED_FORGET_S are forgotten. */
enum { FUZZED_FORGET_S = 180 * 86400 };
MUST_CHECK int fuzzed_note(struct state *s, const struct fuzzed_target *v, size_t n, uint64_t now,
			   struct err *e);

/* Calls fn with each target that was not fuzzed in the last silent_s seconds (those that
 * never were: since they were first seen), and since when.  Non-zero of fn ends it. */
typedef int fuzzed_fn(void *arg, const char *target, uint64_t since, struct err *e);
MUST_CHECK int fuzzed_silent(const struct state *s, uint64_t now, uint64_t silent_s, fuzzed_fn *fn,
			     void *arg, struct err *e);

/* Calls fn with each target that a run had and that is not forgotten; writes nothing.  Times
 * are Unix seconds, fuzzed and turn 0: never. */
struct fuzzed_times {
	const char *target;
	uint64_t fuzzed, first, seen, turn;
	uint64_t grown; /* 0: not known */
};
typedef int fuzzed_each_fn(void *arg, const struct fuzzed_times *t, struct err *e);
MUST_CHECK int fuzzed_each(const struct state *s, fuzzed_each_fn *fn, void *arg, struct err *e);

#endif
