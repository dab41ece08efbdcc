/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_COVERAGE_COVERAGE_H
#define RUNNER_RUN_COVERAGE_COVERAGE_H

#include "runner/run/coverage/collect.h"
#include "runner/run/coverage/tools.h"
#include "runner/state/state.h"

/* Makes the coverage report of a target, with its coverage build:
 *
 *   stage     links the corpus into a directory that cells can read
 *   collect   runs it in cells (collect.h)
 *   tools     llvm-profdata and llvm-cov in a cell (tools.h)
 *   report    reads what they wrote (runner/coverage/report.h), and puts the report into the state
 *             directory (runner/coverage/shelf.h)
 *
 * A kill at any moment leaves the old report, or the new one. */

struct coverage_env {
	struct exec_env exec;
	struct state *state; /* with its lock */
};

/* How a report ended.  Texts are printable. */
struct coverage_end {
	const char *why; /* why there is no report; NULL: there is one */
	bool stopped;
	struct collect_sum sum;
	const json_t *report; /* NULL without one */
};

struct coverage_spec {
	const char *target; /* the report's name */
	/* The coverage build, with its configuration. */
	const struct target *build;
	const struct target_config *cfg;
	size_t index; /* the cells use the indexes index to index + workers - 1 */
	unsigned workers;
	const char *commit;  /* of the build; NULL: unknown */
	const char *sources; /* as in tools_spec; NULL: the work tree around the build */
	bool html;
	/* Our directory, which all users may read; made if it is missing; copied.  At the end it
	 * still has the merged profile, "out/profdata". */
	const char *work;
	void (*done)(void *arg, const struct coverage_end *end); /* once, from the loop */
	void *arg;
};

struct coverage;

/* What env and spec point to is borrowed until done. */
MUST_CHECK int coverage_start(const struct coverage_env *env, const struct coverage_spec *spec,
			      struct coverage **ret, struct err *e);

/* What several reports have in common. */
struct coverage_joined {
	/* The programs; the first is coverage_spec.build.  The merged profile of each is a file in
	 * the directory "raw" of coverage_spec.work. */
	const struct target *const *builds;
	size_t n_builds;
	struct collect_sum sum; /* of all */
};
/* The report of all of them together. */
MUST_CHECK int coverage_join(const struct coverage_env *env, const struct coverage_spec *spec,
			     const struct coverage_joined *of, struct coverage **ret,
			     struct err *e);

void coverage_stop(struct coverage *c); /* at once; done is still called */
/* The inputs that ran, and all of them. */
void coverage_look(const struct coverage *c, uint64_t *ret_done, uint64_t *ret_of);

#endif
