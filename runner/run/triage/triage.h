/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_TRIAGE_H
#define RUNNER_RUN_TRIAGE_TRIAGE_H

#include "runner/run/triage/books.h"
#include "runner/run/triage/replay.h"

/* Turns artifacts (inputs that failed in a cell) into crashes, for one target, one input at a time.
 * A replay runs an input once in a cell.  A triage has up to three stages:
 *
 *   check    Replays the inputs of crashes that are open in the target, to find out whether this
 *            build fixes them.  A crash that was last seen on this commit is left out.  A crash
 *            becomes fixed in the target when all of its inputs have passed there: original and
 *            minimised inputs, also those of merged records (struct ledger_asked).  Each
 *            input must pass as often as its rate requires (runner/crash/odds.h).  All passes must
 *            be on one commit, or in one run if the commit is not known.  Then the inputs are
 *            copied to regressions/<target>/.
 *            The crash stays open if an input fails or is damaged.  It also stays open if an input
 *            failed so rarely before that no number of passes proves a fix (odds_passes() is 0).
 *            A crash that several targets found is fixed when it is fixed in each of them.  If it
 *            is open in a target that is not in this run, sum.note names that target.
 *   queue    Finds the crash of each artifact in triage/<target>/, and counts the artifact for that
 *            crash in the ledger.  Only then the artifact leaves the queue.  A new crash is
 *            replayed until its rate is known, at least once with symbol names for its signature.
 *            A timeout that CPU pressure caused, and that no replay repeats, leaves the queue
 *            without being counted.
 *   minimise Minimises the reproducers of crashes that this run saw, and with minimise_old those of
 *            earlier runs that had no time for it.
 *
 * The cheap key of a failure (crash_report.raw_key) is made from a report without symbol names.  It
 * is the same for one crash site of one binary.  An artifact with the cheap key of a known crash is
 * counted at once, without a replay with names.  The fuzzing cell's report is kept beside the
 * artifact (runner/run/triage/kept.h).  If the kept report names a known crash, the artifact is not
 * replayed at all, unless the cell's limits or CPU pressure may have caused the failure.
 *
 * A failure that no replay repeats is named by the kept report.  Its crash is flaky, and counts as
 * seen when the fuzzing cell found it.  Artifacts for which there is no time stay in the queue for
 * the next run. */

struct triage_env {
	struct replay_env replay;
	struct books *books; /* with the ledger */
	struct state *state;
	const char *run;    /* the run's id */
	const char *commit; /* of the run; NULL: unknown */
	bool counts;	    /* the run's exit status counts new and regressed crashes */
	/* Borrows memory for a symbolizer, beside the memory of the target's own cells.  False:
	 * triage tries again later.  NULL: there is always enough. */
	bool (*borrow_memory)(void *arg, uint64_t bytes);
	void (*return_memory)(void *arg, uint64_t bytes);
	/* Whether the target is in this run.  NULL: all targets are. */
	bool (*has_target)(void *arg, const char *name);
	void *arg; /* for the three functions above */
};

/* The stages, for triage_spec.stages. */
enum {
	TRIAGE_CHECK = 1,
	TRIAGE_QUEUE = 2,
	TRIAGE_MINIMISE = 4,
};

/* The result of a triage. */
struct triage_sum {
	uint64_t artifacts; /* artifacts that left the queue */
	uint64_t found;	    /* crashes that are new in the target */
	uint64_t regressed; /* fixed crashes that failed again in the target */
	uint64_t fixed;	    /* crashes that became fixed in the target */
	uint64_t minimised; /* reproducers that became smaller */
	uint64_t dismissed; /* timeouts that CPU pressure caused */
	/* Inputs that were dumped from cells that did not stop: a replay failed, or passed. */
	uint64_t overran, passed;
	uint64_t flaky;	    /* artifacts that replays did not repeat, or not reliably */
	uint64_t left;	    /* artifacts that are still in the queue */
	uint64_t undecided; /* timeouts in `left`: their replays were starved, and had no result */
	uint64_t replays;   /* replays, and runs of a symbolizer or of the engine's minimising */
	uint64_t unchecked; /* crashes for which TRIAGE_CHECK had no time */
	char last[CRASH_KEY_HEX]; /* start of the signature of the last artifact's crash */
	char note[200];		  /* the first problem; "": there was none */
};
typedef void triage_done_fn(void *arg, const struct triage_sum *sum);

/* Several triages may work on the queue of one target at once, each on its part of the artifacts.
 * They share this struct, so that one triage at a time writes a crash. */
struct triage_parts {
	unsigned n;			  /* parts; set by the caller */
	struct triage *writing, *waiting; /* for triage only; NULL at first */
};

struct triage_spec {
	const struct target *target;
	const struct target_config *cfg;
	size_t index;	 /* exec_spec.index */
	bool rebuilt;	 /* the binary is newer than the run: triage_env.commit is not its commit */
	bool anew;	 /* TRIAGE_CHECK: passes from earlier in this run were on another binary */
	unsigned stages; /* TRIAGE_CHECK | ... */
	/* Time from triage_start() on.  When it is over, no other input is begun.  An input in work
	 * that has failed at least once is noted after its present replay. */
	uint64_t budget_us;
	/* clock_mono_us() at which the replay in work is ended, as by triage_stop(); 0: never. */
	uint64_t until_us;
	const char *work; /* our directory for inputs; copied */
	/* TRIAGE_QUEUE: this triage works on part number `part` of the queue, from 0.  NULL: on the
	 * whole queue. */
	struct triage_parts *parts;
	unsigned part;
	/* TRIAGE_MINIMISE: only this crash, whether or not it waits to be minimised.  NULL: the
	 * crashes that this run saw and that wait. */
	const char *signature;
	/* TRIAGE_MINIMISE: after these, crashes of earlier runs as well.  They get half of the time
	 * that is left when the stage begins. */
	bool minimise_old;
	triage_done_fn *done;
	void *arg; /* for done */
};

struct triage;

/* The loop calls done, once.  *env and all that *spec points to must live until then, except for
 * spec->work. */
MUST_CHECK int triage_start(const struct triage_env *env, const struct triage_spec *spec,
			    struct triage **ret, struct err *e);
uint64_t triage_replays(const struct triage *t); /* triage_sum.replays until now */
/* Ends the replay in work at once, and then the triage.  done is still called. */
void triage_stop(struct triage *t);

/* The value of replay_spec.ub_goes_on for a crash: whether it may lie behind undefined behaviour,
 * after which fuzzing goes on.  c NULL: the crash is not known. */
bool triage_ub_goes_on(const struct known_crash *c);

/* The path of the newest llvm-symbolizer (otherwise addr2line) in a cell with this root: an old
 * symbolizer leaves names of newer compilers mangled.  free() it; NULL: there is none.  rootfs
 * NULL: the host's root. */
char *symbolizer_find(const char *rootfs);

#endif
