/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_TRIAL_H
#define RUNNER_RUN_TRIAGE_TRIAL_H

#include "runner/crash/ledger/ledger.h"
#include "runner/crash/report/report.h"
#include "runner/run/job/exec.h"

/* Runs one input once in a cell, and reports whether and how it failed.  Reproducing a failure,
 * minimising its input and replaying a corpus use it. */

struct trial_env {
	struct exec_env exec;
	const char *symbolizer; /* its path in a cell; NULL: there is none */
};

struct trial_end {
	/* Why there is no result: the cell or the target did not start, or it was stopped.  "":
	 * there is a result. */
	const char *unusable;
	bool failed;
	struct crash_report *report; /* if failed; the caller may move it out */
	struct slice output;	     /* bounded (EXEC_KEPT_MAX) */
	uint64_t cpu_us, wall_us;
	/* The input took too long while it waited for a CPU, and was given more time.  With
	 * unusable: it never had the CPU time that an input may take, and may be tried again when
	 * CPU pressure is lower. */
	bool starved;
};
typedef void trial_done_fn(void *arg, struct trial_end *end);

/* For trials of one target, one after the other.  The cell stays from one trial to the next as long
 * as the trials end normally. */
struct trial_seat;
/* work: a directory in which a directory for the input is made.  index: as trial_spec.index. */
MUST_CHECK int trial_seat_new(const char *work, size_t index, struct trial_seat **ret,
			      struct err *e);
void trial_seat_clear(struct trial_seat *s); /* seat_clear() */
/* No trial may be at work; closed is called as by seat_close(). */
void trial_seat_close(struct trial_seat *s, void (*closed)(void *arg), void *arg);

struct trial_spec {
	const struct target *target;
	const struct target_config *cfg;
	size_t index;		 /* exec_spec.index */
	const char *input;	 /* host path of a file that all users may read; copied */
	struct trial_seat *seat; /* NULL: the trial has a cell of its own */
	bool symbolize;		 /* with names, and extra memory for the symbolizer */
	bool ub_goes_on;	 /* engine_replay's: the crash may lie behind undefined behaviour */
	uint64_t until_us;	 /* clock_mono_us(): no extra time after it; 0: no limit */
	trial_done_fn *done;
	void *arg;
};

struct trial;

/* A timeout counts only if the target had the time as CPU time, or hung while a CPU was free.
 * Engines measure wall time, which proves nothing on an oversubscribed machine.  Without PSI it
 * is not known whether the target waited, and the engine is believed.  A target that is
 * throttled by its cell's own limit gets more time in the same way; if no time is left, the
 * timeout counts.
 *
 * Call it from the loop.  The loop calls done, once, and done may start the next trial.  env,
 * target, cfg and the file must live until then. */
MUST_CHECK int trial_start(const struct trial_env *env, const struct trial_spec *spec,
			   struct trial **ret, struct err *e);
void trial_stop(struct trial *t); /* at once; done is still called */

/* The value of trial_spec.ub_goes_on for a crash: whether it may lie behind undefined behaviour,
 * after which fuzzing goes on.  c NULL: the crash is not known. */
bool trial_goes_past_ub(const struct known_crash *c);

/* Whether the command waited for a CPU for so much of its time that its duration is meaningless. */
bool trial_starved(const struct exec_end *end);

/* Names the failure of a cell by the cell's end, unless the target's text names it better.  io: the
 * report of the text.  True: io was replaced by the name from the cell's end. */
bool trial_own_report(const struct exec_end *end, const char *target, struct crash_report *io);

/* The crash of a replay without a report, and its detail.  told: the text has a report.
 * CRASH_OWN_NONE: the text names the crash better. */
enum crash_own trial_own(const struct exec_end *end, bool told, char detail[32]);

#endif
