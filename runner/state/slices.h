/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_SLICES_H
#define RUNNER_STATE_SLICES_H

#include "base/err.h"
#include "base/json.h"
#include "runner/state/progress.h"

/* What shards (runner/rounds/) did with a target, in slices of time.  A shard gives what it did
 * since it last gave something; a collector keeps the slices of all shards in the target's
 * progress file until a run takes them over:
 *
 *	"shards": [{"build", "at_us", "us", "runs", "from", "cov", "total", ...}, ...]
 *
 * The list is sorted by time, and nothing in it is computed from something else in it.  So the
 * same slices give the same list in whatever order they came.  Only the last slice of what a shard
 * gives has its inputs, health and strategies. */

enum {
	SLICES_MAX = 2048
}; /* of a target; when there are more, the oldest half becomes the curve */

/* What the shard did from `then` to `now`, which are its progress at two times: a new array, empty
 * if that was nothing, or if the engine's numbers cannot be believed.  NULL: no memory.  now_us:
 * Unix time. */
json_t *slices_since(const struct progress *then, const struct progress *now, uint64_t now_us);

/* Whether it is an array of slices; at most SLICES_MAX. */
bool slices_ok(const json_t *slices);

/* Adds such slices to the file of a target, with both from disk: *ret is its new text (free() it).
 * A damaged file is replaced. */
MUST_CHECK int slices_add(int state, const char *target, json_t *slices, char **ret, struct err *e);

/* For progress_load(): adds the slices of the newest build to the file's progress.  False: they are
 * damaged. */
bool slices_fold(const json_t *slices, struct progress *io);

/* --- shared with progress.c ------------------------------------------------------- */

#define PROGRESS_FILE_MAX (1 << 20)

/* A count up to 2^53, which a double represents exactly. */
bool progress_count(const json_t *v, uint64_t *ret);
/* What each tried strategy did; NULL: no memory. */
json_t *slices_arms_json(const struct strategy_arm arms[STRATEGIES]);
/* False: damaged, or more than the build's time and edges.  NULL: there are none. */
bool slices_read_arms(const json_t *all, uint64_t build_us, uint64_t cov,
		      struct strategy_arm arms[STRATEGIES]);

#endif
