/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ROUNDS_SHARDS_H
#define RUNNER_ROUNDS_SHARDS_H

#include <stddef.h>
#include <stdint.h>

/* Divides targets among shards: runs that fuzz at the same time, on machines or in jobs that do not
 * hear of each other.
 *
 * t more seconds of a target are expected to find
 *
 *	found ln(1 + t / age) + gate ln(1 + t / build age)
 *
 * edges (curve.h, rule.h), at a rate that falls.  The CPU time of all shards is divided so that in
 * the end all rates are the same, times the targets' weights: no second would find more elsewhere.
 * But each target gets at least a little, and at most as much as all shards can give it, because a
 * fuzzer is one process.
 *
 * Then the targets' times are laid one behind the other, the longest first, on lanes: one for each
 * worker of each shard, as long as a shard takes.  Neighbouring lanes are of different shards.  So
 * all shards have the same work, and a target with more time than a lane is in several shards.
 *
 * Pure, and deterministic. */

enum { SHARDS_MAX_COUNT = 4096, SHARDS_TARGETS_MAX = 100000 };

struct shards_target {
	const char *name;			/* breaks ties */
	double found, age_s, gate, build_age_s; /* rule_terms() */
	double had_s;				/* CPU time that its build had */
	double weight;				/* share_weight(); 0 counts as 1 */
};

/* A target's time in one shard. */
struct shards_piece {
	size_t target; /* index */
	double seconds;
	unsigned part, parts; /* 0 of 1: the target is in no other shard */
};

struct shards_one {
	struct shards_piece *v; /* by target */
	size_t n;
	double seconds, edges; /* of all pieces: CPU time, and what it is expected to find */
};

struct shards {
	struct shards_one *v;
	unsigned n;
	double *seconds; /* of each target, in all shards */
	double rate;	 /* at the end, of the targets that got more than the least */
};
void shards_done(struct shards *s);

struct shards_spec {
	const struct shards_target *targets;
	size_t n;
	unsigned shards, workers; /* at least 1; workers: of each shard */
	double seconds;		  /* wall time of a shard, above 0 */
	double least;		  /* seconds of a target: see shards_divide() */
};
/* If all targets together may have so much time, each gets at least `least`; else an equal share of
 * the time.  A target that had `least` before gets at least a quarter of that share: most of the
 * time stays for those that find much.
 *
 * *ret: shards_done() frees it. */
void shards_divide(const struct shards_spec *spec, struct shards *ret);

/* The expected number of new edges. */
double shards_edges(const struct shards_target *t, double seconds);

#endif
