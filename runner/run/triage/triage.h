/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_TRIAGE_H
#define RUNNER_RUN_TRIAGE_TRIAGE_H

#include "runner/run/triage/books.h"
#include "runner/run/triage/trial.h"

/* Turns artifacts into crashes, for one target, one input at a time:
 *
 *   check    Crashes that are open in the target are replayed on this build.  A crash
 *            becomes fixed in this target when all of the target's inputs have passed
 *            (original and minimised, runner/crash/ledger/asked.h), also those of merged
 *            records.  They must pass on the same commit, or in the same run if the commit
 *            is not known.  Each must pass as often as its rate asks (runner/crash/odds.h).
 *            Then regressions/<target>/ gets them.  An input that fails, is damaged, or
 *            failed too seldom for any number of passes keeps the crash open.
 *            The crash is fixed when it is fixed in every target that found it.  A target
 *            that no longer exists keeps it open until a user decides; sum.note says so.
 *   queue    Every artifact in triage/<target>/ is replayed, gets a signature, and is counted for
 *            its crash in the ledger.  Only then it leaves the queue.
 *   shrink   Reproducers are minimised: of new crashes, and of crashes for which earlier runs had
 *            no time.
 *
 * A crash that is known by its cheap key is counted without a replay with names.  The key may be
 * from the fuzzing cell's report, which is kept beside the artifact (runner/run/triage/kept.h).  A
 * failure that never comes back is named by that report: flaky, first seen where it was found.
 * Artifacts that are not done in time stay queued for the next run. */

struct triage_env {
	struct trial_env trial;
	struct books *books;
	struct state *state;
	const char *run;    /* the run's id */
	const char *commit; /* NULL: unknown */
	bool counts;	    /* the run's exit status counts new and regressed crashes */
	/* Borrows memory for a symbolizer, beside the memory of the target's own cells.  False: try
	 * again later.  NULL: there is always enough. */
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
	uint64_t dismissed;		   /* timeouts that CPU pressure caused */
	uint64_t overran; /* dumped inputs of cells that did not stop, and that fail in a replay */
	uint64_t flaky;	  /* artifacts that are not or hardly reproducible */
	uint64_t left;	  /* artifacts that are still queued */
	uint64_t undecided;	  /* timeouts in `left` that were replayed, but starved */
	uint64_t trials;	  /* inputs that were run */
	uint64_t unchecked;	  /* crashes that TRIAGE_CHECK had no time for */
	char last[CRASH_KEY_HEX]; /* the last artifact's crash */
	char note[200];		  /* the first problem; "": there was none */
};
typedef void triage_done_fn(void *arg, const struct triage_sum *sum);

/* Several triages may work on the queue of one target at once, each on a part of it.  Only one of
 * them at a time writes a crash. */
struct triage_parts {
	unsigned n;
	struct triage *writing, *waiting; /* the module's own */
};

struct triage_spec {
	const struct target *target;
	const struct target_config *cfg;
	size_t index;	 /* exec_spec.index */
	bool rebuilt;	 /* the binary is newer than the run: triage_env.commit is not its commit */
	bool anew;	 /* TRIAGE_CHECK: earlier passes of this run were on another binary */
	unsigned stages; /* TRIAGE_CHECK | ... */
	uint64_t budget_us; /* afterwards an input that has failed is noted after its replay */
	/* clock_mono_us(): then the replay in work is ended, and the rest waits; 0: never. */
	uint64_t until_us;
	const char *work; /* our directory for inputs; copied */
	/* TRIAGE_QUEUE: it takes the part with this number; NULL: the whole queue. */
	struct triage_parts *parts;
	unsigned part;
	/* TRIAGE_SHRINK: only this crash; NULL: all waiting crashes that this run saw. */
	const char *signature;
	bool shrink_old; /* TRIAGE_SHRINK: also crashes of earlier runs, in half of the time */
	triage_done_fn *done;
	void *arg;
};

struct triage;

/* The loop calls done, once; all of the spec and env must live until then. */
MUST_CHECK int triage_start(const struct triage_env *env, const struct triage_spec *spec,
			    struct triage **ret, struct err *e);
uint64_t triage_trials(const struct triage *t); /* so far: triage_sum.trials */
void triage_stop(struct triage *t);		/* at once; done is still called */

#endif
