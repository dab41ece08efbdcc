/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_CHECK_CHECK_H
#define RUNNER_RUN_CHECK_CHECK_H

#include "runner/run/triage/triage.h"

/* Runs the inputs that are new in a target's corpus in the target's check variants: builds with
 * other sanitizers, which see bugs that the main build does not see.  A new build of a variant runs
 * the whole corpus once.
 *
 * One variant after the other:
 *   stage    Lists the inputs of the corpus, and of the variant's fixed crashes (regressions/),
 *            that the variant's build has not run (checked.h), the smallest first.  Links some of
 *            them into a directory that cells can read.
 *   run      Many inputs a cell (runner/run/triage/batch.h).
 *   save     Queues the inputs that failed in triage/<target>@<variant>/; then notes the inputs
 *            that ran.  A kill between the two runs them again, which queues nothing twice.
 *   triage   Works on that queue with the variant's program, like triage of the main build: the
 *            crashes are those of the target "<target>@<variant>".
 * until no input is left, the time is over, or the variant cannot run any.  One input is run even
 * if it takes longer.  The rest waits for the next check. */

struct check_sum {
	uint64_t ran, failed;  /* inputs */
	uint64_t left;	       /* inputs that wait, of the variants that were looked at */
	uint64_t behind_since; /* since when inputs wait, Unix seconds; 0: not known */
	bool incomplete;       /* a variant was not looked at, or not to its end */
	bool beyond;	       /* an input took longer than the budget; one check of a turn may */
	uint64_t cpu_us;       /* of the inputs' cells */
	uint64_t triage_us;    /* wall time of triage */
	struct triage_sum triage; /* sums of all variants; its note is ours */
};

struct check_spec {
	const struct target *target; /* the main build, with its variants */
	/* The configuration of each of target->variants. */
	const struct target_config *cfgs;
	const struct target_config *main_cfg;
	size_t index;	    /* exec_spec.index */
	uint64_t budget_us; /* CPU time that the inputs may take, about */
	uint64_t triage_us; /* wall time that triage may take, beside budget_us */
	/* clock_mono_us(); 0: never.  After ends_us nothing is begun.  At until_us a replay of
	 * triage that is still running is ended. */
	uint64_t ends_us, until_us;
	uint64_t run_began_us; /* clock_real_us(): a program that is newer has an unknown commit */
	bool finds_fixes; /* checks the variants' known crashes for fixes, too (TRIAGE_CHECK) */
	bool minimises;	  /* minimises reproducers, too (TRIAGE_MINIMISE) */
	const char *work; /* our directory for inputs; copied */
	void (*done)(void *arg, const struct check_sum *sum);
	void *arg; /* for done */
};

struct check;

/* Whether the target has a check variant that is enabled.  cfgs: as in check_spec. */
bool check_is_wanted(const struct target *t, const struct target_config *cfgs);

/* The loop calls done, once.  env and all that *spec points to must live until then, except for
 * spec->work. */
MUST_CHECK int check_start(const struct triage_env *env, const struct check_spec *spec,
			   struct check **ret, struct err *e);
/* Ends the cells at once; done is still called. */
void check_stop(struct check *c);

#endif
