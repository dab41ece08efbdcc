/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_COVERAGE_TOOLS_H
#define RUNNER_RUN_COVERAGE_TOOLS_H

#include "runner/coverage/llvm.h"
#include "runner/run/job/exec.h"

/* Runs llvm-profdata and llvm-cov in a cell: they read what hostile programs wrote.  They write
 * into a directory:
 *
 *	profdata	the profiles, merged
 *	summary.json	totals, of the program and of each file (llvm-cov export -summary-only)
 *	lcov.info	lines, functions and branches (llvm-cov export -format=lcov), with C++
 *			names demangled
 *	listing		the source text with counts (llvm-cov show); empty without sources
 *	html/		pages with the source text; missing if not wanted, or without sources */

enum { TOOLS_BUILDS_MAX = 30 }; /* programs in one report */

struct tools_spec {
	/* Coverage builds: the first one's configuration gives the cell its limits. */
	const struct target *const *builds;
	size_t n_builds;
	const struct target_config *cfg;
	size_t index; /* exec_spec.index */
	const struct llvm *llvm;
	const char *raw;     /* a directory with profiles, of any names; all users may read it */
	const char *out;     /* our directory, empty; the cell's user gets it */
	const char *sources; /* a directory that the cell shows at its own path; NULL: none */
	bool html;
	uint64_t deadline_us; /* wall time from now */
	/* Once, from the loop.  why: the error, printable; NULL: the files are there.  notes: the
	 * first warnings of the tools, or "". */
	void (*done)(void *arg, const char *why, const char *notes);
	void *arg;
};

struct tools;

/* All that env and spec point to is borrowed until done, but for spec->builds. */
MUST_CHECK int tools_start(const struct exec_env *env, const struct tools_spec *spec,
			   struct tools **ret, struct err *e);
void tools_stop(struct tools *t); /* at once; done is still called */

#endif
