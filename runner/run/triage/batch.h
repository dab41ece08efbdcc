/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_BATCH_H
#define RUNNER_RUN_TRIAGE_BATCH_H

#include "runner/run/triage/replay.h"

/* Runs many inputs of one target once each: many inputs per cell, several cells at a time.
 *
 * An engine ends at the first input that fails.  That input is run again in a process of its own,
 * which decides, and a new cell goes on after it.  If an input took too long while its cell waited
 * for a CPU, only the run alone counts.  The input is left out if it never gets its CPU time.
 *
 * An input counts as passed only if it was seen to run.  A cell is believed only if it names its
 * inputs in their order, once each.  They have passed if the cell names all of them and then ends
 * by itself with status 0.  If an input fails, the inputs before it have passed.
 *
 * A target may print or hide the engine's lines.  Then each of the cell's inputs is run by itself.
 * A target that prints all lines as the engine would, and exits, is not detected. */

enum {
	BATCH_INPUTS_MAX = 1000,  /* maximum of inputs per cell */
	BATCH_INPUTS_MIN = 8,	  /* minimum, if there are so many: a cell is expensive */
	BATCH_FAILURES_MAX = 200, /* failures of a target; then the rest is left out */
};

/* An input that failed. */
struct batch_failure {
	size_t input; /* its index */
	/* The input passed when it was run alone: the failure depends on the inputs before it, or
	 * is flaky.  Then the report is from the cell with many inputs. */
	bool only_together;
	const struct crash_report *report;
	struct failure_cause cause; /* of the report's cell, as well as the output */
	struct slice output; /* of the report's cell, bounded (EXEC_KEPT_MAX); empty: not known */
};

struct batch_sum {
	uint64_t passed, failed;
	uint64_t left_out; /* not known: too many failures, stopped, or `why` */
	uint64_t cells;
	uint64_t wall_us, cpu_us; /* cpu_us: of all cells */
	bool stopped;
	char why[300]; /* why the target, or the first such input, could not be run */
};

struct batch_spec {
	const struct target *target;
	const struct target_config *cfg;
	/* Its cells use the indexes index to index + workers - 1. */
	size_t index;
	unsigned workers; /* cells at a time, at least 1 */
	/* A host directory with the inputs; all users may read them, and they have plain names. */
	const char *dir;
	const char *work; /* our directory for inputs that are run alone */
	const char *(*name)(void *arg, size_t input);
	size_t n;
	void (*failed)(void *arg, const struct batch_failure *f);
	/* Called for each input that passed, or seemed to: a failure may still follow.  NULL is
	 * fine. */
	void (*ran)(void *arg, size_t input);
	void (*done)(void *arg, const struct batch_sum *sum); /* once, from the loop */
	void *arg;					      /* for the four functions */
};

struct batch;

/* env, target, cfg, dir and work are borrowed until done. */
MUST_CHECK int batch_start(const struct replay_env *env, const struct batch_spec *spec,
			   struct batch **ret, struct err *e);
/* Ends the cells at once; done is still called.  why: the reason for inputs left out; NULL: a user
 * stopped it. */
void batch_stop(struct batch *b, const char *why);
/* The number of inputs that were begun. */
uint64_t batch_begun(const struct batch *b);

/* Ends the cell of a worker, because its input in work takes too long.  A timer calls it. */
void batch_end_stuck(struct batch *b, unsigned worker);

/* The number of inputs for the next cell.  Pure.  workers: at least 1. */
size_t batch_size(size_t left, unsigned workers);

#endif
