/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ROUNDS_BASE_H
#define RUNNER_ROUNDS_BASE_H

#include "runner/rounds/give.h"
#include "runner/rounds/plan.h"
#include "runner/state/state.h"

/* The beginning of a shard: copies what its share of the targets needs from the base state into its
 * own state directory.  The base is read without its lock, and may change meanwhile: each file of
 * it is always whole.
 *
 *   corpora, quarantined and regression inputs; progress; what the last merge reached;
 * dictionaries; the records of crashes that the targets found
 *
 * A shard that was killed continues in the same directory, and nothing is copied again.  -EEXIST:
 * the directory belongs to another shard, or is a state directory of its own.  -ENOENT: there is no
 * base. */
struct base_sum {
	uint64_t inputs, bytes, crashes;
	bool again; /* the shard continues */
};
MUST_CHECK int base_copy(struct state *s, const char *base, const struct round_plan *p,
			 unsigned shard, struct base_sum *ret, struct err *e);

#endif
