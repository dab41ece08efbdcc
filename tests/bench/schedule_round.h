/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SCHEDULE_ROUND_H
#define TESTS_BENCH_SCHEDULE_ROUND_H

#include "base/json.h"
#include "runner/rounds/shards.h"
#include "runner/state/progress.h"
#include "tests/bench/schedule_sim.h"

/* Rounds of simulated shards.  Each shard is a simulated machine with its own luck: which edges it
 * finds, and when, is drawn from the species of the world that nothing collected has yet.  Every
 * ROUND_STEP_S a shard gives what it found.  What it gives, and the plan of the next round, go
 * through the product's code (runner/rounds/shards.h, runner/state/slices.h). */

enum { ROUND_STEP_S = 300 };

/* What is collected of a target. */
struct held {
	bool *found;	/* of each of its species */
	unsigned steps; /* of its gates, passed */
	struct progress progress;
	json_t *slices; /* of the present round */
};

struct collected_world {
	const struct world *world;
	struct held *v;
	uint64_t edges;
	uint64_t given, twice; /* edges that shards gave; that another had given already */
};
void collected_world_begin(struct collected_world *c, const struct world *w);
void collected_world_done(struct collected_world *c);

/* The targets of a plan, with what is known of them.  ret: c->world->n. */
void collected_world_outlook(const struct collected_world *c, const struct rule *rule,
			     struct shards_target *ret);

/* What goes wrong in a round. */
struct trouble {
	double dies; /* share of the shards that die, at any moment */
	double slow; /* share of the shards that have half of their CPU time and begin 300 s late */
};

struct round {
	const struct shards *shards;
	const struct sim_policy *policy; /* with run_s */
	unsigned workers;		 /* of each shard */
	struct trouble trouble;
	uint64_t seed;
	uint64_t began_s; /* time since the first round began */
};
/* Returns the length of the round, which ends with its last shard.  edges: a number for each
 * ROUND_STEP_S of it. */
uint64_t round_run(const struct round *r, struct collected_world *io, uint64_t *edges);

#endif
