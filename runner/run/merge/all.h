/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_MERGE_ALL_H
#define RUNNER_RUN_MERGE_ALL_H

#include "runner/run/merge/merge.h"
#include "runner/run/plan.h"

/* Merges the corpora of all planned targets, as many at a time as there are workers;
 * cells that have no target of their own help with the large corpora.
 * SIGINT, SIGTERM and SIGHUP stop all: what was measured is kept. */
struct merge_all_opts {
	struct merge_env env;
	const struct plan *plan;
	unsigned workers;	 /* cells at once, at least 1 */
	uint64_t machine_memory; /* what the sum of the cells' limits may reach */
	enum merge_what what;
	bool force; /* merge_spec.force */
	/* One target's end, from the loop. */
	void (*ended)(void *arg, const struct plan_entry *p, const struct merge_result *r);
	void *arg;
};

/* Runs the loop.  A target that fails is no error. */
MUST_CHECK int merge_all(const struct merge_all_opts *o, struct err *e);

/* How many cells the next target may have: the free ones, shared among those that
 * wait, as far as their limits fit into memory; at least 1. */
unsigned merge_all_share(unsigned free, size_t waiting, uint64_t limit, uint64_t memory_left);

#endif
