/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ROUNDS_COLLECT_H
#define RUNNER_ROUNDS_COLLECT_H

#include "base/json.h"
#include "base/strv.h"
#include "runner/rounds/plan.h"
#include "runner/state/state.h"

#include <stdbool.h>
#include <stdint.h>

/* Brings deltas into a state directory.  In whatever order deltas come, in one call or in several,
 * the result is the same, and a delta that came already changes nothing:
 *
 *   inputs      join the corpora, and what is beside them; a merge decides later which stay
 *   crashes     runner/crash/ledger/fold.h; failures that wait for triage wait here, too, unless
 *               their shard has triaged them since
 *   progress    runner/state/slices.h
 *   histories   lines in order of time, each once; stats/fleet.jsonl has a line for each delta,
 *               and for each round that has ended
 *
 * All deltas of a call change the state at once, or none does (runner/state/change.h).  Damaged
 * ones are left out.
 *
 *	stats/deltas		the id of each delta that was collected, one per line
 *	stats/triaged.json	{"triage/png/crash-<sha1>": when a delta said that it is triaged,
 *				Unix seconds}: also for deltas that come later.  Kept for a day
 */

enum collect_what { COLLECT_NEW, COLLECT_AGAIN, COLLECT_DAMAGED };
struct collect_delta {
	const char *path;
	enum collect_what what;
	char *why;		/* of a damaged one */
	json_t *head;		/* without its lists; NULL: damaged */
	uint64_t inputs, known; /* new ones; those that were there already */
	uint64_t crashes, sightings;
};
typedef void collect_fn(void *arg, const struct collect_delta *d);

struct collect {
	struct state *state; /* with its lock */
	const struct strv *paths;
	const struct round_plan *over; /* this round has ended: its shards that gave no last
					* delta are lost.  NULL: nothing is known of that */
	collect_fn *report;	       /* called for each path, when the change is made */
	void *arg;
};
struct collected {
	uint64_t deltas, again, damaged;
	uint64_t inputs, known, crashes, sightings;
	struct strv fresh; /* paths of new inputs in corpora: "corpus/<target>/<sha1>" */
	struct strv old;   /* "corpus/<target>" of deltas that were collected before: whoever did so
			    * may have been killed before the merge */
};
void collected_done(struct collected *c);

/* Blocks.  After an error nothing has changed, or the next process with the lock completes the
 * change. */
MUST_CHECK int collect_deltas(const struct collect *c, struct collected *ret, struct err *e);

#endif
