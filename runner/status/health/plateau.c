/* SPDX-License-Identifier: Apache-2.0 */
/* Likely causes of a plateau.  They are probable, not certain, because coverage alone proves no
 * cause.  If the numbers fit several causes, none is reported. */
#include "runner/status/health/internal.h"

#include <string.h>

/* Nearly all edges were reached in the first tenth of its time, and there was no burst since. */
static bool is_flat(const struct health_view *v)
{
	double late = v->cov - v->early, some = v->cov * AT_FLAT;

	return v->early >= 0 && v->burst_cpu >= v->build_cpu * (1 - AT_FLAT) &&
	       late <= (some > 2 ? some : 2);
}

static bool has_hints(const struct health_view *v)
{
	return v->by_comparison > 0 || v->by_dictionary > 0;
}

/* Blocked at a gate: few edges are reached, early, and then none.  A large corpus shows progress
 * elsewhere, whatever this build reaches. */
static void judge_gate(const struct health_view *v, struct health *h)
{
	double share = v->cov / v->edges * 100;

	if (v->units < 0 || v->units >= AT_CORPUS_SMALL || v->kept < 0)
		return;
	if (has_hints(v))
		health_add(
		    h, HEALTH_CHECKSUM_GATE, HEALTH_NOTE,
		    "likely a checksum: %.0f of %.0f edges (%.0f%%) since its first tenth; "
		    "tokens were found by comparisons (%.0f inputs) or the dictionary (%.0f), "
		    "and nothing opened behind them",
		    v->cov, v->edges, share, v->by_comparison,
		    v->by_dictionary > 0 ? v->by_dictionary : 0);
	else if (v->seeds > 0 || v->dictionary > 0)
		health_add(
		    h, HEALTH_WEAK_SEEDS, HEALTH_NOTE,
		    "likely weak seeds: %.0f of %.0f edges (%.0f%%) since its first tenth, with "
		    "%.0f seeds%s",
		    v->cov, v->edges, share, v->seeds > 0 ? v->seeds : 0,
		    v->dictionary > 0 ? "; its dictionary did not help" : "");
	else if (v->seeds == 0 && v->dictionary == 0)
		health_add(
		    h, HEALTH_MAGIC_BYTES, HEALTH_NOTE,
		    "likely magic bytes: %.0f of %.0f edges (%.0f%%) since its first tenth; no "
		    "seeds, no dictionary, and no comparison showed what it wants",
		    v->cov, v->edges, share);
}

static void judge_grown(const struct health_view *v, struct health *h)
{
	double share = v->cov / v->edges;

	if (v->edges >= AT_EDGES_BROAD && share < AT_SHARE_BROAD)
		health_add(
		    h, HEALTH_TOO_BROAD, HEALTH_NOTE,
		    "likely a harness for too much: %.0f of %.0f edges (%.1f%%), and they came "
		    "slowly",
		    v->cov, v->edges, share * 100);
	else if (share < AT_SHARE_DEEP && has_hints(v) && v->kept >= AT_KEPT_FEW &&
		 v->ft >= v->cov * AT_FEATURES_MANY)
		health_add(h, HEALTH_STRUCTURE, HEALTH_NOTE,
			   "likely a format with structure: %.0f of %.0f edges (%.0f%%) in %.0f "
			   "features; its tokens are known, more ways through the same code were "
			   "found, but no new code",
			   v->cov, v->edges, share * 100, v->ft);
}

void health_plateau(const struct health_view *v, struct health *h)
{
	if (strcmp(v->reason, "plateau") != 0 || v->edges < AT_EDGES_FEW || v->cov <= 0)
		return;
	if (v->cov >= v->edges * AT_SHARE_COVERED)
		health_add(h, HEALTH_COVERED, HEALTH_OK, "at its plateau, with %.0f of %.0f edges",
			   v->cov, v->edges);
	else if (v->execs < AT_PLATEAU_EXECS || v->build_cpu <= 0 || v->early < 0)
		return;
	else if (is_flat(v) && v->cov < v->edges * AT_SHARE_LOW)
		judge_gate(v, h);
	else
		judge_grown(v, h);
}
