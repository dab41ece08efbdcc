/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_MEASURE_COVER_H
#define RUNNER_CORPUS_MEASURE_COVER_H

#include "runner/corpus/measure/control.h"

/* Which inputs a corpus keeps, and which of these go elsewhere.  Pure, but for reading the control
 * files again. Memory: 24 bytes an input and three sets of features (16 MiB each at most).
 *
 * What is chosen reaches all features that were measured.  That holds for
 * -merge_inner=1 as well: an input lists fewer then, all together list the same.  Its
 * control files are a tenth as large and cost a quarter less CPU time; it is enough
 * for a measurement that is only compared (cover_reach(), cover_gap()).  With 2,
 * cover_top_up() knows every input that had a feature.
 *
 * The guard: measure the chosen alone, compare with all.  What is missing then was
 * not lost by choosing: the target does not always do the same.  Top up, measure
 * again; when there is nothing to add, every input that ever had what is missing is
 * in the new corpus. */

/* A shard that was measured, and its list.  Several passes may go in one array. */
struct cover_shard {
	const struct control *control;
	const struct candidates *list;
};

/* What inputs reach together. */
struct reach {
	struct bits features, edges;
	uint64_t ran, failed, waiting; /* inputs */
};
#define _autoreach_ CLEANUP(reach_done)

/* Adds to *io, which starts as {0}. */
MUST_CHECK int cover_reach(const struct cover_shard *s, size_t shards, struct reach *io,
			   struct err *e);
void reach_done(struct reach *r);

/* libFuzzer's choice: smallest first, then those with more features, then by name;
 * taken when it brings a feature that those before it did not.  So the chosen reach
 * every feature of all inputs that ran, which is added to *io as by cover_reach(). */
MUST_CHECK int cover_choose(const struct cover_shard *s, size_t shards, struct candidates *ret,
			    struct reach *io, struct err *e);

/* The fewest inputs that reach the same: of those in `of` that ran, a set that has all
 * features which these have together.  It works in rounds.  A round takes each input that
 * brings at least half as many features as the round before asked for.  Then each input
 * is dropped that the ones taken after it make superfluous.  (On corpora of four of our own fuzz
 * targets that was 0 to 4 % less than the greedy set cover.)  Each input must list all of its
 * features
 * (-merge_inner=2).  of, *ret: sorted.  Rounds: at most 23, as an input has at most
 * CONTROL_FEATURES_MAX features. */
MUST_CHECK int cover_fewest(const struct cover_shard *s, size_t shards, const struct candidates *of,
			    struct candidates *ret, struct err *e);

/* What `all` has and `got` has not. */
struct cover_gap {
	uint64_t features, edges;
	/* Of these: every input that ever had it is chosen already.  A target that
	 * does not always do the same loses it in any measurement, not by merging. */
	uint64_t lost_features, lost_edges;
};
struct cover_gap cover_gap(const struct reach *all, const struct reach *got);

/* Adds to *io (sorted afterwards), for what is missing, the next input that had it
 * and is not chosen yet: smallest first.  s: the measurement of all.  Returns in gap
 * what was missing, with lost_*; *ret_added 0: there is nothing to add. */
MUST_CHECK int cover_top_up(const struct cover_shard *s, size_t shards, const struct reach *all,
			    const struct reach *got, struct candidates *io, size_t *ret_added,
			    struct cover_gap *gap, struct err *e);

#endif
