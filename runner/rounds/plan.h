/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ROUNDS_PLAN_H
#define RUNNER_ROUNDS_PLAN_H

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "runner/rounds/shards.h"

#include <stdbool.h>
#include <stdint.h>

/* The plan of a round: which shard fuzzes which targets, and for how long.  `fuzzcell plan` prints
 * it as JSON, and each shard of the round reads it.  docs/json.md has its keys. */

enum { ROUND_PLAN_ID = 17, ROUND_PLAN_MAX = 64 << 20, ROUND_WORKERS_MAX = 1024 };
#define ROUND_MAX (UINT64_C(1) << 32)
/* Of a shard, as of a run: run.total_time. */
#define ROUND_TIME_MIN_US (1 * USEC_PER_SEC)
#define ROUND_TIME_MAX_US (UINT64_C(365) * 86400 * USEC_PER_SEC)

struct round_piece {
	char *target;
	uint64_t us;	      /* CPU time */
	unsigned part, parts; /* the target's part in this shard, from 0, of so many */
};

struct round_share {
	struct round_piece *v;
	size_t n;
	uint64_t us; /* sum of v */
	double edges;
	uint64_t memory; /* bytes: of its largest cells, as many as there are workers */
};

struct round_plan {
	char id[ROUND_PLAN_ID]; /* from the content of the plan: 16 hexadecimal digits */
	uint64_t round;		/* from 1 */
	unsigned workers;	/* of each shard */
	uint64_t time_us;	/* wall time of each shard */
	struct round_share *v;
	unsigned shards;
};
void round_plan_done(struct round_plan *p);

/* Makes the plan of what shards_divide() divided.  memory: of each target's cell. */
void round_plan_make(const struct shards *s, const struct shards_spec *spec, const uint64_t *memory,
		     uint64_t round, uint64_t time_us, struct round_plan *ret);

/* A new object.  The same plan gives the same text. */
json_t *round_plan_json(const struct round_plan *p);
/* Reads one, which may come from another machine.  -EBADMSG: it is no plan, is damaged or was
 * edited (its id is that of another content). */
MUST_CHECK int round_plan_read(json_t *j, struct round_plan *ret, struct err *e);
/* The same of a file. */
MUST_CHECK int round_plan_load(const char *path, struct round_plan *ret, struct err *e);

/* "i/n", of which shard number i (from 1) of n is meant. */
bool round_shard_parse(const char *text, unsigned *ret_i, unsigned *ret_n);
/* The shard (from 1) that the environment of a batch engine names: FUZZCELL_SHARD ("i/n"),
 * SLURM_ARRAY_TASK_ID (from 1), JOB_COMPLETION_INDEX (from 0).  -ENOENT: none of them is set;
 * -EINVAL: it is not a shard of n. */
MUST_CHECK int round_shard_of_engine(unsigned n, unsigned *ret, struct err *e);

#endif
