/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_FLEET_PAST_H
#define RUNNER_FLEET_PAST_H

#include "runner/fleet/plan.h"
#include "runner/state/state.h"

#include <stdint.h>

/* The rounds of the past: stats/fleet.jsonl has a line for each delta that was collected
 * (docs/histories.md). */
#define FLEET_HISTORY "fleet.jsonl"

/* What is known of a round, from the deltas that were collected. */
struct fleet_round {
	uint64_t round; /* 0: there was none */
	char plan[FLEET_PLAN_ID];
	unsigned shards, gave, ended; /* all; those that gave a delta; those that gave their last */
	unsigned nodes;		      /* machines that gave a delta */
	uint64_t due;		      /* when the last shard should have ended, Unix seconds */
	uint64_t until;		      /* of the newest delta */
	uint64_t inputs, edges, crashes;
	double cpu_seconds;
};
/* The newest round. */
MUST_CHECK int fleet_past_newest(const struct state *s, struct fleet_round *ret, struct err *e);

/* The number of the next round: one more than the highest number of the last lines; 1: there was
 * none. */
MUST_CHECK int fleet_past_round(const struct state *s, uint64_t *ret, struct err *e);

#endif
