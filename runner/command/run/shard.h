/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_RUN_SHARD_H
#define RUNNER_COMMAND_RUN_SHARD_H

#include "base/task.h"
#include "runner/command/common/session.h"
#include "runner/rounds/plan.h"

/* `fuzzcell run --shard`: a run of one shard's share of the targets. Starts as {0}, with the texts
 * of its options. The functions return exit statuses, with errors printed, and do nothing without
 * --plan. Call them in this order. */
struct run_shard {
	const char *shard, *plan_path, *base, *deltas; /* --shard, --plan, --base, --deltas */
	uint64_t interval_us;			       /* --delta-interval */
	struct round_plan plan;
	unsigned number; /* from 1; 0: this run is no shard */
	bool missing;	 /* targets of the share are not here */
	char *config;	 /* the base's configuration */
	struct session *session;
	struct task *task; /* makes a delta */
	uint64_t given_us; /* when the last one began, clock_mono_us() */
	bool failing;
};

/* Reads the plan, and finds the configuration. Before session_load(). */
int run_shard_read(struct run_shard *s, struct session *session);
/* The run's total time in the configuration's form, with 32 bytes of room; "" if it is none. */
const char *run_shard_time(const struct run_shard *s, char out[32]);
/* The same for its workers. */
const char *run_shard_workers(const struct run_shard *s, char out[32]);
/* Leaves only the share in the session's plan. */
int run_shard_select(struct run_shard *s);
/* Copies the base into the state directory, which is open with its lock. */
int run_shard_begin(struct run_shard *s);
/* Makes a delta if it is time for one. Call it once a second. */
void run_shard_second(struct run_shard *s);
/* Makes the last delta: the run is over. */
int run_shard_end(struct run_shard *s);
void run_shard_done(struct run_shard *s);

#endif
