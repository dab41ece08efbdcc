/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ROUNDS_PAST_H
#define RUNNER_ROUNDS_PAST_H

#include "base/json.h"
#include "runner/rounds/plan.h"
#include "runner/state/state.h"

#include <stdbool.h>
#include <stdint.h>

/* The rounds of the past: stats/fleet.jsonl has a line for each delta that was collected
 * and for each round that a collector was told the end of (docs/histories.md). */
#define ROUND_HISTORY "fleet.jsonl"
/* A collector keeps the newest ones: about 100 MB. */
enum { ROUND_HISTORY_LINES = 320000 };

/* What is known of a shard, from its deltas that were collected. */
struct past_shard {
	char node[64];	 /* of its newest delta; "": it gave none */
	unsigned deltas; /* that were collected */
	bool ended;	 /* its last one is among them */
	uint64_t until;	 /* of its newest delta, Unix seconds; 0: it gave none */
	uint64_t inputs, edges, crashes;
	double cpu_seconds;
};
/* Adds a line of the history. */
void past_add(struct past_shard *io, const json_t *line);

/* The same of a round. */
struct past_round {
	uint64_t round; /* 0: there was none */
	struct past_shard *v;
	unsigned shards, ended; /* all; those that gave their last delta */
	unsigned nodes;		/* machines that gave the newest delta of a shard */
	char plan[ROUND_PLAN_ID];
	uint64_t due;	/* when the last shard should have ended, Unix seconds; 0: no delta */
	uint64_t over;	/* when a collector was told that it has ended; 0: none was */
	uint64_t until; /* of the newest delta; 0: there is none */
	uint64_t inputs, edges, crashes;
	double cpu_seconds;
};
void past_round_done(struct past_round *r);
/* Whether the line is of the round. */
bool past_is_of(const json_t *line, const struct past_round *r);

#define PAST_LATE_S 3600
/* Whether a shard never came back: it gave no last delta, and none since a collector was told the
 * round's end, or the round was due to end more than PAST_LATE_S ago. */
bool past_is_lost(const struct past_round *r, const struct past_shard *s, uint64_t now);

/* The newest round; past_round_done() frees it. */
MUST_CHECK int past_newest(const struct state *s, struct past_round *ret, struct err *e);
/* The round of a plan; past_round_done() frees it. */
MUST_CHECK int past_of_plan(const struct state *s, const struct round_plan *p,
			    struct past_round *ret, struct err *e);
/* The newest rounds, newest first.  ret: room for max; free each by past_round_done(). */
MUST_CHECK int past_rounds(const struct state *s, size_t max, struct past_round *ret, size_t *ret_n,
			   struct err *e);

/* The number of the next round: one more than the highest number of the last lines; 1: there was
 * none. */
MUST_CHECK int past_next_round(const struct state *s, uint64_t *ret, struct err *e);

#endif
