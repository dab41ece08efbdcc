/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_MEASURE_COVER_H
#define RUNNER_CORPUS_MEASURE_COVER_H

#include "runner/corpus/measure/control.h"

/* Chooses the inputs that a corpus keeps, and those of them that are exported: a merge's criterion.
 * A corpus keeps an input if it reaches a feature that no smaller kept input reaches.  A feature is
 * libFuzzer's: an edge with a range of its execution count, or what value profile adds.
 *
 * Pure, except that it reads the control files again.  Memory: 24 bytes an input and three sets of
 * features (16 MiB each at most).
 *
 * The chosen inputs reach all features that were measured.  This holds for -merge_inner=1 as well:
 * each input lists fewer features then, but all inputs together list the same.  Its control files
 * are a tenth as large and cost a quarter less CPU time.  So it is enough for a measurement that is
 * only compared (cover_reach(), cover_gap()).  With 2, cover_top_up() knows every input that had a
 * feature.
 *
 * The guard: measure the chosen inputs alone, and compare with all.  A missing feature was not lost
 * by choosing: the target does not always behave the same.  Top up, and measure again.  When there
 * is nothing to add, the new corpus has every input that ever had a missing feature. */

/* A measured shard, and its list.  One array may hold the shards of several passes. */
struct cover_shard {
	const struct control *control;
	const struct candidates *list;
};

/* The features and edges that inputs reach together. */
struct reach {
	struct bits features, edges;
	uint64_t ran, failed, waiting; /* inputs */
};
#define _autoreach_ CLEANUP(reach_done)

/* Adds to *io, which starts as {0}. */
MUST_CHECK int cover_reach(const struct cover_shard *s, size_t shards, struct reach *io,
			   struct err *e);
void reach_done(struct reach *r);

/* libFuzzer's choice.  The order is: smallest first, then more features first, then by name.  An
 * input is chosen if it has a feature that no input before it had.  So the chosen inputs reach
 * every feature of all inputs that ran.  Those are added to *io as by cover_reach(). */
MUST_CHECK int cover_choose(const struct cover_shard *s, size_t shards, struct candidates *ret,
			    struct reach *io, struct err *e);

/* The fewest inputs that reach the same: a subset of the inputs in `of` that ran, with all of their
 * features.  The algorithm works in rounds.  A round takes each input that brings at least half as
 * many new features as the round before required.  Then it drops each input that the later ones
 * make superfluous.  (On corpora of four of our own fuzz targets the result was 0 to 4 % smaller
 * than the greedy set cover.)  There are at most 23 rounds, as an input has at most
 * CONTROL_FEATURES_MAX features.
 *
 * Each input must list all of its features (-merge_inner=2).  of, *ret: sorted. */
MUST_CHECK int cover_fewest(const struct cover_shard *s, size_t shards, const struct candidates *of,
			    struct candidates *ret, struct err *e);

/* The features and edges that `all` has and `got` has not. */
struct cover_gap {
	uint64_t features, edges;
	/* Of these, those for which every input that ever had them is chosen.  A target that does
	 * not always behave the same loses them in any measurement; the merge does not. */
	uint64_t lost_features, lost_edges;
};
struct cover_gap cover_gap(const struct reach *all, const struct reach *got);

/* For each missing feature, adds to *io the smallest input that had it and is not chosen yet.  *io
 * is sorted afterwards.  s: the measurement of all inputs.  *gap: what was missing, with lost_*.
 * *ret_added 0: there is nothing to add. */
MUST_CHECK int cover_top_up(const struct cover_shard *s, size_t shards, const struct reach *all,
			    const struct reach *got, struct candidates *io, size_t *ret_added,
			    struct cover_gap *gap, struct err *e);

#endif
