/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_COVERAGE_COLLECT_H
#define RUNNER_RUN_COVERAGE_COLLECT_H

#include "runner/corpus/measure/shard.h"
#include "runner/run/job/exec.h"

/* Runs a corpus in cells of a coverage build, and collects the profiles of the processes.
 *
 * A process writes its profile when it ends by itself.  So an input that fails would take the
 * profile of the inputs before it along: those run again, in a process that ends before the failing
 * input, and the next process begins with it.  If it fails as the first, it is left out.
 *
 * Each process writes one given file, which is bounded like any file of a cell.  The profiles are
 * hostile: only llvm-profdata reads them, in a cell. */

enum {
	COLLECT_INPUTS_MAX = 5000, /* inputs of a process: its arguments are bounded */
	/* After a failure: the inputs of the next process, which doubles with each success. */
	COLLECT_INPUTS_AFTER = 64,
	COLLECT_FAILURES_MAX = 500, /* of a target; then the rest is left out */
};

#define COLLECT_PROFILE_MAX (UINT64_C(256) << 20) /* bytes of a process's profile */
#define COLLECT_BYTES_MAX   (UINT64_C(4) << 30)	  /* of all; then the rest is left out */

struct collect_sum {
	uint64_t ran, failed, left_out; /* inputs */
	uint64_t profiles;
	uint64_t cpu_us;
	bool stopped;
	char why[300]; /* why inputs were left out; "" */
};

struct collect_spec {
	const struct target *build;
	const struct target_config *cfg;
	size_t index;	  /* the cells use the indexes index to index + workers - 1 */
	unsigned workers; /* at least 1 */
	const char *dir;  /* the inputs; all users may read them */
	const struct candidates *inputs;
	const char *raw; /* our directory; gets "<number>.profraw", which all users may read */
	void (*done)(void *arg, const struct collect_sum *sum); /* once, from the loop */
	void *arg;
};

struct collect;

/* All that env and spec point to is borrowed until done. */
MUST_CHECK int collect_start(const struct exec_env *env, const struct collect_spec *spec,
			     struct collect **ret, struct err *e);
void collect_stop(struct collect *c);		    /* at once; done is still called */
uint64_t collect_finished(const struct collect *c); /* inputs */

/* How many inputs the next process gets, after one of n inputs.  Pure.  started: how many were seen
 * to begin; ended: the process ended by itself, and well. */
size_t collect_next_size(size_t n, size_t started, bool ended);

#endif
