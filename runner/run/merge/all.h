/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_MERGE_ALL_H
#define RUNNER_RUN_MERGE_ALL_H

#include "runner/run/merge/merge.h"
#include "runner/run/plan.h"

/* Merges the corpora of all planned targets, as many at a time as there are workers.  Spare workers
 * help with the merges that run.  SIGINT, SIGTERM and SIGHUP stop all merges; measurements are
 * kept. */
struct merge_all_opts {
	struct merge_env env;
	const struct plan *plan;
	unsigned workers;	 /* cells at once, at least 1 */
	uint64_t machine_memory; /* upper limit for the sum of the cells' memory limits */
	enum merge_what what;
	bool force; /* merge_spec.force */
	/* Called from the loop when the merge of a target has ended. */
	void (*ended)(void *arg, const struct plan_entry *p, const struct merge_result *r);
	void *arg;
};

/* Runs the loop.  A target that fails is no error. */
MUST_CHECK int merge_all(const struct merge_all_opts *o, struct err *e);

/* The number of cells for the next target, at least 1.  The waiting targets share the free cells
 * equally, as far as the memory limits fit. */
unsigned merge_all_share(unsigned free, size_t waiting, uint64_t limit, uint64_t memory_left);

#endif
