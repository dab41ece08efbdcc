/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ROUNDS_GIVE_H
#define RUNNER_ROUNDS_GIVE_H

#include "runner/rounds/delta.h"
#include "runner/rounds/plan.h"
#include "runner/state/state.h"

/* What a shard gives.  In its state directory:
 *
 *	shard/shard.json	which shard it is, and the number of its last delta
 *	shard/inputs		what it need not give again: "base <path>" came from the base state,
 *				"given <path>" went into a delta; "waits <path>" waited for triage
 *				at the last delta: it is given with the next one, if it still waits
 *	shard/known_crashes.json, shard/stats/progress/<target>.json
 *				as they were at the last delta
 *	deltas/			deltas that were not delivered yet
 *
 * Inputs of a living cell are given, too: it may live for longer than an interval.
 *
 * A delta and these files appear at once (runner/state/change.h), so that nothing is given twice
 * or not at all, whenever the machine dies.  All functions block, and need the state's lock. */

struct shard_id {
	char source[DELTA_SOURCE]; /* of this state directory */
	char plan[ROUND_PLAN_ID];
	uint64_t round;
	unsigned shard, shards;
	uint64_t seq; /* of the last delta */
	uint64_t due; /* when the shard should have ended, Unix seconds */
};
/* -ENOENT: it is no shard's state directory. */
MUST_CHECK int shard_load(int state_dirfd, struct shard_id *ret, struct err *e);
/* For a new state directory, with what it got from the base: from now on the difference to that is
 * given.  Makes up the source. */
MUST_CHECK int shard_begin(struct state *s, struct shard_id *io, struct err *e);

struct give {
	struct state *state;
	bool last; /* the shard ends.  Also gives again all inputs that the base did not have, in
		    * case an earlier delta was lost: they are few after the last merge */
	uint64_t now_us; /* Unix time */
};
struct given {
	char name[128]; /* in deltas/; "": there was nothing new */
	uint64_t inputs, crashes;
	bool more; /* not all new inputs fit: call it again.  A last delta was not made then */
};
MUST_CHECK int give_delta(const struct give *g, struct given *ret, struct err *e);

/* Copies the deltas that wait to the directory, and removes them here.  Each appears there
 * complete. */
MUST_CHECK int give_deliver(struct state *s, const char *dir, uint64_t *ret_n, struct err *e);

#endif
