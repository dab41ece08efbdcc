/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_PLAN_H
#define RUNNER_RUN_PLAN_H

#include "runner/config/config.h"
#include "runner/targets/discover.h"

/* The plan of a run: the targets in their order, with their configuration. */
struct plan_entry {
	const struct target *target;
	struct target_config cfg;
	struct target_config *variants; /* of each of target->variants; owned */
	size_t rank;			/* which glob of the filter it matches first */
};
struct plan {
	struct plan_entry *v;
	size_t n;
	size_t disabled;
};

/* filter: globs for names with commas between them; NULL: all targets.  The order is priority, then
 * the first glob that matches, then the size of the binary (smallest first), then the name.  An
 * error names the target. */
MUST_CHECK int plan_make(const struct config *c, const struct target_list *l, const char *filter,
			 struct plan *ret, struct err *e);
/* The plan of one build alone, which may be another build than a main build. */
MUST_CHECK int plan_make_one(const struct config *c, const struct target *t, struct plan *ret,
			     struct err *e);
/* Adds other builds of all targets, each as an entry of its own.  roles: of which roles, a bit each
 * (1u << ROLE_CHECK).  wants: which of these; NULL: all. */
typedef bool plan_wants_fn(void *arg, const struct target *build);
MUST_CHECK int plan_add_builds(const struct config *c, unsigned roles, plan_wants_fn *wants,
			       void *arg, struct plan *io, struct err *e);
/* Leaves only those entries in the plan that are wanted. */
void plan_keep(struct plan *io, plan_wants_fn *wants, void *arg);
void plan_done(struct plan *p);
/* The build, for the functions of config.h. */
struct config_target plan_build(const struct target *t);
/* The configuration of one build, with its side files.  Free it with target_config_done(). */
MUST_CHECK int plan_resolve(const struct config *c, const struct target *t,
			    struct target_config *ret, struct err *e);

/* The part of a run's total time that is reserved for triage and merging after fuzzing: a tenth,
 * ten minutes at most. */
uint64_t plan_reserve(uint64_t total_us);

/* Whether a cell with this memory limit may start.  used: the sum of the other cells' limits.  The
 * sum never exceeds the machine's memory, so that every cell can use its whole limit. */
bool plan_admits(uint64_t used, uint64_t limit, uint64_t machine);

#endif
