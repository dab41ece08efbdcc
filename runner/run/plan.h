/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_PLAN_H
#define RUNNER_RUN_PLAN_H

#include "runner/config/config.h"
#include "runner/targets/discover.h"

/* What a run would do: the targets in their order with their values.  Pure but
 * for reading the configuration. */
struct plan_entry {
	const struct target *target;
	struct target_config cfg;
};
struct plan {
	struct plan_entry *v;
	size_t n;
	size_t disabled;
};

/* filter NULL: all; else names that match this glob.  Order: priority, then the
 * simplest first (the smaller binary), then the name.  An error names the target. */
MUST_CHECK int plan_make(const struct config *c, const struct target_list *l, const char *filter,
			 struct plan *ret, struct err *e);
void plan_done(struct plan *p);
/* What holds for one target, side files included; target_config_done() frees. */
MUST_CHECK int plan_resolve(const struct config *c, const struct target *t,
			    struct target_config *ret, struct err *e);

/* How much of a run's total time is kept from fuzzing, for the triage of what was found
 * and the minimising of corpora: a tenth, ten minutes at most. */
uint64_t plan_reserve(uint64_t total_us);

/* Whether a cell of this limit may start beside cells whose limits sum to used:
 * never more than the machine has, so that every limit can be kept. */
bool plan_admits(uint64_t used, uint64_t limit, uint64_t machine);

#endif
