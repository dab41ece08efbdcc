/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_MACHINE_H
#define RUNNER_COMMAND_COMMON_MACHINE_H

#include "base/buf.h"
#include "base/loop.h"
#include "cells/cell.h"
#include "runner/command/command.h"
#include "runner/run/plan.h"

/* What a run needs of the machine, opened together.  The functions print and
 * return an exit status. */
struct machine {
	struct loop *loop;
	struct cgroup_tree *tree;
	struct cell_host *host;
	char *runtime_dir;
	uint64_t memory; /* what the sum of the cells' limits may reach, bytes */
};

/* The same for an instance of any name, without a word; machine_close() *ret also after a
 * failure.  keeper: cgroup_tree_opts'. */
MUST_CHECK int machine_try(const struct config *c, const char *instance, bool keeper,
			   struct machine *ret, struct err *e);
/* Adds what it keeps; what it does not, and what to do about that ("": nothing is missing). */
MUST_CHECK int machine_kept(const struct machine *m, struct buf *out, struct err *e);
MUST_CHECK int machine_missing(const struct machine *m, struct buf *out, struct err *e);
/* -ENOMEM: it has less memory than the target's limit. */
MUST_CHECK int machine_memory(const struct machine *m, const struct plan_entry *p, struct err *e);
int machine_open(const struct config *c, const struct state *s, struct machine *ret);
/* Says which promises hold; refuses to go on when one does not, unless the
 * configuration says best-effort. */
int machine_check(const struct config *c, const struct state *s, const struct machine *m,
		  const struct plan *plan);
void machine_close(struct machine *m);

unsigned machine_cpus(void);
/* The directory of the bundles of an instance's cells; free() *ret. */
MUST_CHECK int machine_runtime_dir(const char *instance, char **ret, struct err *e);
/* Bytes that the limits of all groups below the tree may sum up to. */
uint64_t machine_usable_memory(const struct cgroup_tree *t);

/* The number of cells that our limit of open files allows at once.  Call it after machine_try(),
 * which raises the limit as far as it goes.  0: not even one; *ret_limit is the limit. */
unsigned machine_places(uint64_t *ret_limit);
/* The workers that the configuration wants (0: one a CPU).  If there are fewer places, their
 * number, with a message.  Fails when there is not even one place. */
int machine_workers(unsigned wanted, unsigned *ret);

#endif
