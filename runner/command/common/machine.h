/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_MACHINE_H
#define RUNNER_COMMAND_COMMON_MACHINE_H

#include "base/buf.h"
#include "base/loop.h"
#include "cells/cell.h"
#include "runner/command/command.h"
#include "runner/run/plan.h"

/* The resources of the machine that a run needs, opened together. The functions print errors and
 * return an exit status. */
struct machine {
	struct loop *loop;
	struct cgroup_tree *tree;
	struct cell_host *host;
	char *runtime_dir;
	uint64_t memory; /* upper bound for the sum of the cells' limits, bytes */
};

/* Like machine_open(), for an instance of any name, and without printing. Call machine_close() on
 * *ret also after a failure. keeper: see struct cgroup_tree_opts. */
MUST_CHECK int machine_try(const struct config *c, const char *instance, bool keeper,
			   struct machine *ret, struct err *e);
/* Appends the limits that the machine enforces, or (machine_missing()) those that it cannot enforce
 * and the remedy. machine_missing() appends nothing if all limits are enforced. */
void machine_kept(const struct machine *m, struct buf *out);
void machine_missing(const struct machine *m, struct buf *out);
/* -ENOMEM: the machine has less memory than the target's limit. */
MUST_CHECK int machine_memory(const struct machine *m, const struct plan_entry *p, struct err *e);
int machine_open(const struct config *c, const struct state *s, struct machine *ret);
/* Prints which limits the machine enforces. Fails if one is missing, unless the configuration says
 * best-effort. */
int machine_check(const struct config *c, const struct state *s, const struct machine *m,
		  const struct plan *plan);
void machine_close(struct machine *m);

unsigned machine_cpus(void);
/* The directory for the bundles of an instance's cells. free() *ret. */
MUST_CHECK int machine_runtime_dir(const char *instance, char **ret, struct err *e);
/* Upper bound for the sum of the limits of all groups below the tree, bytes. */
uint64_t machine_usable_memory(const struct cgroup_tree *t);

/* Returns how many cells our limit of open files allows at once. Call it after machine_try(), which
 * raises the limit to its maximum. 0: not even one cell. *ret_limit is the limit. */
unsigned machine_places(uint64_t *ret_limit);
/* Sets *ret to wanted (0: one worker per CPU). If the limit of open files allows fewer, uses that
 * number and warns. Fails if it does not allow even one cell. */
int machine_workers(unsigned wanted, unsigned *ret);

#endif
