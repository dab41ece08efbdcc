/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_TRIAGE_H
#define RUNNER_RUN_TRIAGE_TRIAGE_H

#include "runner/run/triage/books.h"
#include "runner/run/triage/trial.h"

/* From artifacts to crashes, for one target, one input at a time:
 *
 *   check    Crashes that are open in the target are replayed on this build.  A crash
 *            becomes fixed in this target when all of the target's inputs have passed
 *            (original and minimised, runner/crash/ledger/fix.h), also those of merged
 *            records.  They must pass on the same commit, or in the same run if the commit
 *            is not known; each as often as its own rate asks (runner/crash/odds.h).
 *            Then regressions/<target>/ gets them.  An input that fails, is damaged, or
 *            failed too seldom for any number of passes keeps the crash open.
 *            The crash is fixed when it is fixed in every target that found it.  A target
 *            that no longer exists keeps it open until a user decides; sum.note says so.
 *   queue    every artifact in triage/<target>/ is reproduced, signed, and counted for
 *            its crash in the ledger; only then it leaves the queue
 *   shrink   reproducers are made smaller: of new crashes, and of those for which earlier runs
 *            had no time
 *
 * A crash that a target's cheap key already names is counted without being run again
 * with names.  The key may be that of the fuzzing cell's report, which is kept beside the
 * artifact (runner/run/triage/kept.h).  A failure that never comes back is named by that
 * report: flaky, first seen where it was found.  Artifacts that are not done in time stay
 * queued for the next run. */

struct triage_env {
	struct trial_env trial;
	struct books *books;
	struct state *state;
	const char *run;    /* the run's id */
	const char *commit; /* NULL: unknown */
	bool counts;	    /* the run's exit status counts new and regressed crashes */
	/* Memory beside that of the target's own cells, for a symbolizer; false: not now,
	 * ask again.  NULL: there is enough. */
	bool (*borrow_memory)(void *arg, uint64_t bytes);
	void (*return_memory)(void *arg, uint64_t bytes);
	/* Whether a target is among those of this run.  NULL: all are. */
	bool (*has_target)(void *arg, const char *name);
	void *arg;
};

enum {
	TRIAGE_CHECK = 1,
	TRIAGE_QUEUE = 2,
	TRIAGE_SHRINK = 4,
};

struct triage_sum {
	uint64_t artifacts;		   /* taken from the queue */
	uint64_t found;			   /* crashes that are new in the target */
	uint64_t regressed, fixed, shrunk; /* the target's entries */
	uint64_t dismissed;		   /* timeouts that the busy machine caused */
	uint64_t overran; /* dumped inputs of cells that did not stop, and that fail in a replay */
	uint64_t flaky;	  /* artifacts that are not or hardly reproducible */
	uint64_t left;	  /* still queued */
	uint64_t undecided; /* of these: timeouts that were tried, but the machine was too busy */
	uint64_t trials;    /* inputs that were run */
	uint64_t unchecked; /* crashes that TRIAGE_CHECK had no time for */
	char last[CRASH_KEY_HEX]; /* the last artifact's crash */
	char note[200];		  /* what went wrong, "" when nothing did */
};
typedef void triage_done_fn(void *arg, const struct triage_sum *sum);

/* Several triages may work off the queue of one target at once, each a part of it.  One of them at
 * a time writes a crash. */
struct triage_parts {
	unsigned n;
	struct triage *writing, *waiting; /* the module's own */
};

struct triage_spec {
	const struct target *target;
	const struct target_config *cfg;
	size_t index;	    /* exec_spec.index */
	bool rebuilt;	    /* its binary is newer than the run: triage_env.commit is not its */
	bool anew;	    /* TRIAGE_CHECK: what passed in this run did so on another binary */
	unsigned stages;    /* TRIAGE_CHECK | ... */
	uint64_t budget_us; /* an input that has failed is noted behind its replay, then */
	/* clock_mono_us(): the replay in work is ended, and what is open waits; 0: never. */
	uint64_t until_us;
	const char *work; /* a directory of ours, for inputs; copied */
	/* TRIAGE_QUEUE: it takes the part-th of these parts; NULL: all. */
	struct triage_parts *parts;
	unsigned part;
	/* TRIAGE_SHRINK: this crash alone; NULL: those that this run saw and that wait for it. */
	const char *signature;
	bool shrink_old; /* TRIAGE_SHRINK: also those that earlier runs saw, in half of the time */
	triage_done_fn *done;
	void *arg;
};

struct triage;

/* done comes from the loop, once; all of the spec and env must live until then. */
MUST_CHECK int triage_start(const struct triage_env *env, const struct triage_spec *spec,
			    struct triage **ret, struct err *e);
uint64_t triage_trials(const struct triage *t); /* so far: triage_sum.trials */
void triage_stop(struct triage *t);		/* at once; done comes all the same */

#endif
