/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_CHECK_CHECK_H
#define RUNNER_RUN_CHECK_CHECK_H

#include "runner/run/triage/triage.h"

/* Runs the inputs that are new in a target's corpus in the target's check variants: builds with
 * other sanitizers, which see bugs that the main build does not see.  A new build of a variant runs
 * the whole corpus once.
 *
 * One variant after the other:
 *   stage    Lists the inputs that the variant's build has not run (checked.h), the smallest first,
 *            and links some of them into a directory that cells can read.
 *   run      Many inputs a cell (runner/run/triage/batch.h).
 *   save     Queues the inputs that failed in triage/<target>@<variant>/; then notes the inputs
 *            that ran.  A kill between the two runs them again, which queues nothing twice.
 *   triage   Works on that queue with the variant's program, like triage of the main build: the
 *            crashes are those of the target "<target>@<variant>".
 * until no input is left, or the time is over.  The rest waits for the next check. */

struct check_sum {
	uint64_t ran, failed;	  /* inputs */
	uint64_t left;		  /* inputs that wait, of all variants */
	uint64_t cpu_us;	  /* of the inputs' cells */
	struct triage_sum triage; /* sums of all variants; its note is ours */
};

struct check_spec {
	const struct target *target; /* the main build, with its variants */
	/* The configuration of each of target->variants. */
	const struct target_config *cfgs;
	const struct target_config *main_cfg;
	size_t index;	    /* exec_spec.index */
	uint64_t budget_us; /* CPU time that the inputs may take, about; triage comes on top */
	uint64_t until_us;  /* clock_mono_us() at which it ends; 0: never */
	bool finds_fixes;   /* checks the variants' known crashes for fixes, too (TRIAGE_CHECK) */
	bool minimises;	    /* minimises reproducers, too (TRIAGE_MINIMISE) */
	bool rebuilt;	    /* triage_spec.rebuilt */
	const char *work;   /* our directory for inputs; copied */
	void (*done)(void *arg, const struct check_sum *sum);
	void *arg; /* for done */
};

struct check;

/* Whether the target has a check variant. */
bool check_is_wanted(const struct target *t);

/* The loop calls done, once.  env and all that *spec points to must live until then, except for
 * spec->work. */
MUST_CHECK int check_start(const struct triage_env *env, const struct check_spec *spec,
			   struct check **ret, struct err *e);
/* Ends the cells at once; done is still called. */
void check_stop(struct check *c);

#endif
