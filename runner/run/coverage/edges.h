/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_COVERAGE_EDGES_H
#define RUNNER_RUN_COVERAGE_EDGES_H

#include "runner/coverage/functions.h"
#include "runner/run/merge/merge.h"

/* Measures which functions a target's corpus and seeds reach, with the build that fuzzes:
 *
 *   places    the table of its edges (runner/targets/pcs.h), named by a symbolizer in a cell
 *   measure   the engine runs the inputs in cells (merge.h), and lists the edges that they reach
 *
 * The build needs debug information, and an engine that measures.  It must be one module: edges are
 * numbered through all modules of a process. */

struct edges_spec {
	const struct target *target;
	const struct target_config *cfg;
	size_t index; /* the cells use the indexes index to index + workers - 1 */
	unsigned workers;
	const char *symbolizer; /* its path in a cell */
	const char *work;	/* our directory, which all users may read */
	uint64_t budget_us;	/* wall time of the measurement */
	/* named: the places, nothing reached.  False: the measurement is not needed. */
	bool (*wants)(void *arg, const struct lcov *named);
	/* Once, from the loop.  why: printable; NULL: *reached is as of functions_lcov(). */
	void (*done)(void *arg, const char *why, const struct lcov *reached);
	void *arg; /* for both functions */
};

struct edges;

/* Blocks while it reads the table.  All that env and spec point to is borrowed until done. */
MUST_CHECK int edges_start(const struct merge_env *env, const struct edges_spec *spec,
			   struct edges **ret, struct err *e);
void edges_stop(struct edges *d); /* at once; done is still called */

#endif
