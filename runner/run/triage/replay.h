/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_REPLAY_H
#define RUNNER_RUN_TRIAGE_REPLAY_H

#include "runner/run/triage/trial.h"

/* Runs many inputs of one target once each: many to a cell, several cells at a time.  An
 * engine ends at the first input that fails; that one is run again in a process of its own,
 * for what it is alone, and a new cell goes on behind it.  One that took too long while its
 * cell waited for a CPU is what it is alone, and left out when it is never given its time.
 *
 * Nothing that was not seen to run counts as passed.  What a cell says is only believed
 * when it names its inputs in their order, once each: they have passed when it came to all
 * of them and then ended by itself with status 0, and those before the one in which it
 * failed have.  A cell that says anything else, because the target prints the engine's
 * lines or hides them, says nothing, and each of its inputs is run by itself.  A target that
 * prints all of them as the engine would, and leaves, is not found out: it is its own
 * judge. */

enum {
	REPLAY_BATCH = 1000,	   /* inputs a cell, at most */
	REPLAY_LEAST = 8,	   /* and at least, when there are so many: a cell costs more */
	REPLAY_FAILURES_MAX = 200, /* of a target; then the rest is left out */
};

/* An input that failed. */
struct replay_failure {
	size_t input; /* its index */
	/* It passed when it was run alone: what failed depends on the inputs before it, or
	 * fails now and then.  The report is that of the cell with many, then. */
	bool only_together;
	const struct crash_report *report;
};

struct replay_sum {
	uint64_t passed, failed;
	uint64_t left_out; /* nothing is known of them: too many failures, stopped, or why */
	uint64_t cells;
	uint64_t wall_us;
	bool stopped;
	char why[300]; /* the target, or the first input of which that is so, could not be run */
};

struct replay_spec {
	const struct target *target;
	const struct target_config *cfg;
	/* Its cells are those of the run's targets index to index + workers - 1. */
	size_t index;
	unsigned workers; /* cells at a time, at least 1 */
	/* Files of a host directory, all readable by everybody; plain names. */
	const char *dir;
	const char *work; /* a directory of ours, for inputs that are run alone */
	const char *(*name)(void *arg, size_t input);
	size_t n;
	void (*failed)(void *arg, const struct replay_failure *f);
	void (*done)(void *arg, const struct replay_sum *sum); /* once, from the loop */
	void *arg;					       /* of the three */
};

struct replay;

/* env, target, cfg, dir and work are borrowed until done. */
MUST_CHECK int replay_start(const struct trial_env *env, const struct replay_spec *spec,
			    struct replay **ret, struct err *e);
/* Ends the cells at once; done comes all the same.  why: of what is left out; NULL: a person
 * stopped it. */
void replay_stop(struct replay *r, const char *why);
/* Inputs that were begun. */
uint64_t replay_begun(const struct replay *r);

/* Which inputs the next cell gets: pure.  workers: at least 1. */
size_t replay_batch(size_t left, unsigned workers);

#endif
