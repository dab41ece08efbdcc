/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_COVERAGE_EDGES_H
#define RUNNER_RUN_COVERAGE_EDGES_H

#include "runner/coverage/linetable.h"
#include "runner/run/merge/merge.h"

/* Measures which lines a target's corpus and seeds reach, with the build that fuzzes
 * (runner/coverage/linetable.h):
 *
 *   lines     llvm-dwarfdump prints the program's line table, in a cell
 *   measure   the engine runs the inputs in cells (merge.h), and lists the edges that they reach
 *
 * The build needs debug information, its symbols, and an engine that measures.  It must be one
 * module: edges are numbered through all modules of a process. */

struct edges_spec {
	const struct target *target;
	const struct target_config *cfg;
	size_t index; /* the cells use the indexes index to index + workers - 1 */
	unsigned workers;
	const char *dwarfdump;	   /* its path in a cell */
	const char *work;	   /* our directory */
	uint64_t budget_us;	   /* wall time of both steps */
	linetable_wants_fn *wants; /* which files: without them it is not measured */
	/* Once, from the loop.  why: why it was not measured, printable; NULL: it was.  *reached is
	 * as of linetable_lcov(), and without files if the program has none that is wanted.
	 * Without a measurement nothing in it is reached; NULL: the line table is not known. */
	void (*done)(void *arg, const char *why, const struct lcov *reached);
	void *arg; /* for both functions */
};

struct edges;

/* Blocks while it reads the program's tables.  All that env and spec point to is borrowed until
 * done. */
MUST_CHECK int edges_start(const struct merge_env *env, const struct edges_spec *spec,
			   struct edges **ret, struct err *e);
void edges_stop(struct edges *d); /* at once; done is still called */

#endif
