/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_REPLAY_H
#define RUNNER_RUN_TRIAGE_REPLAY_H

#include "runner/crash/ledger/ledger.h"
#include "runner/crash/report/report.h"
#include "runner/run/job/exec.h"

/* Runs one input once in a cell, and reports whether and how it failed.  Reproducing a failure,
 * minimising its input and replaying a corpus use it. */

struct replay_env {
	struct exec_env exec;
	const char *symbolizer; /* its path in a cell; NULL: there is none */
};

struct replay_end {
	/* Why there is no result: the cell or the target did not start, or it was stopped.  "":
	 * there is a result. */
	const char *unusable;
	bool failed;
	struct crash_report *report; /* if failed; the caller may move it out */
	struct failure_cause cause;  /* if failed */
	struct slice output;	     /* bounded (EXEC_KEPT_MAX) */
	uint64_t cpu_us, wall_us;
	/* The input took too long while it waited for a CPU, and was given more time.  With
	 * unusable: it never had the CPU time that an input may take, and may be tried again when
	 * CPU pressure is lower. */
	bool starved;
};
typedef void replay_done_fn(void *arg, struct replay_end *end);

/* For replays of one target, one after the other.  The cell stays from one replay to the next as
 * long as the replays end normally. */
struct replay_seat;
/* work: a directory in which a directory for the input is made.  index: as replay_spec.index. */
MUST_CHECK int replay_seat_new(const char *work, size_t index, struct replay_seat **ret,
			       struct err *e);
void replay_seat_clear(struct replay_seat *s); /* seat_clear() */
/* No replay may be at work; closed is called as by seat_close(). */
void replay_seat_close(struct replay_seat *s, void (*closed)(void *arg), void *arg);

struct replay_spec {
	const struct target *target;
	const struct target_config *cfg;
	size_t index;		  /* exec_spec.index */
	const char *input;	  /* host path of a file that all users may read; copied */
	struct replay_seat *seat; /* NULL: the replay has a cell of its own */
	bool symbolize;		  /* with names, and extra memory for the symbolizer */
	bool ub_goes_on;   /* engine_replay's: the crash may lie behind undefined behaviour */
	uint64_t until_us; /* clock_mono_us(): no extra time after it; 0: no limit */
	replay_done_fn *done;
	void *arg;
};

struct replay;

/* A timeout counts only if the target had the time as CPU time, or hung while a CPU was free.
 * Engines measure wall time, which proves nothing on an oversubscribed machine.  Without PSI it
 * is not known whether the target waited, and the engine is believed.  A target that is
 * throttled by its cell's own limit gets more time in the same way; if no time is left, the
 * timeout counts.
 *
 * Call it from the loop.  The loop calls done, once, and done may start the next replay.  env,
 * target, cfg and the file must live until then. */
MUST_CHECK int replay_start(const struct replay_env *env, const struct replay_spec *spec,
			    struct replay **ret, struct err *e);
void replay_stop(struct replay *t); /* at once; done is still called */

/* Whether the command waited for a CPU for so much of its time that its duration is meaningless. */
bool replay_starved(const struct exec_end *end);

#endif
