/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_TRIAL_H
#define RUNNER_RUN_TRIAGE_TRIAL_H

#include "runner/crash/ledger/ledger.h"
#include "runner/crash/report/report.h"
#include "runner/run/job/exec.h"

/* One input, run once in a cell: did it fail, and of what?  Finding out
 * whether a failure reproduces, making its input smaller and replaying a corpus are
 * made of these. */

struct trial_env {
	struct exec_env exec;
	const char *symbolizer; /* its path in a cell; NULL: there is none */
};

struct trial_end {
	/* Why nothing can be said of the input: the cell or the target did not start,
	 * or it was stopped.  "" when something can. */
	const char *unusable;
	bool failed;
	struct crash_report *report; /* when failed; may be taken: set to NULL */
	struct slice output;	     /* bounded (EXEC_KEPT_MAX) */
	uint64_t cpu_us, wall_us;
	/* It took too long while it waited for a CPU, and was given more time.  With unusable:
	 * it never had the CPU time that an input may take, and may be tried again when the
	 * machine is calmer. */
	bool starved;
};
typedef void trial_done_fn(void *arg, struct trial_end *end);

/* Trials of one target, one after the other.  The cell stays from one to the next as long as
 * nothing is odd. */
struct trial_seat;
/* work: a directory, in which one is made for the input.  index: as trial_spec.index. */
MUST_CHECK int trial_seat_new(const char *work, size_t index, struct trial_seat **ret,
			      struct err *e);
void trial_seat_clear(struct trial_seat *s); /* seat_clear() */
/* No trial may be at work; closed comes as that of seat_close(). */
void trial_seat_close(struct trial_seat *s, void (*closed)(void *arg), void *arg);

struct trial_spec {
	const struct target *target;
	const struct target_config *cfg;
	size_t index;		 /* exec_spec.index */
	const char *input;	 /* host path of a file that everybody may read; copied */
	struct trial_seat *seat; /* NULL: in a cell of its own */
	bool symbolize;		 /* with names, and memory of their own for them */
	bool ub_goes_on;	 /* engine_replay's: its crash is known to be of another kind */
	uint64_t until_us;	 /* clock_mono_us(): no more time is given after it; 0: no limit */
	trial_done_fn *done;
	void *arg;
};

struct trial;

/* A timeout counts only if the target had the time as CPU time, or hung while a CPU was free:
 * engines measure wall time, which proves nothing on an oversubscribed machine.  Without PSI it
 * is not known whether the target waited, and the engine is believed.  A target that is
 * throttled by its cell's own limit gets more time in the same way; if no time is left, the
 * timeout counts.
 *
 * From the loop; done comes from there, once, and may start the next.  env, target, cfg and
 * the file must live until then. */
MUST_CHECK int trial_start(const struct trial_env *env, const struct trial_spec *spec,
			   struct trial **ret, struct err *e);
void trial_stop(struct trial *t); /* at once; done comes all the same */

/* trial_spec.ub_goes_on for a crash: whether it may lie behind undefined behaviour, which fuzzing
 * goes past.  c NULL: it is not known. */
bool trial_goes_past_ub(const struct known_crash *c);

/* Whether it waited for a CPU for so much of its time that how long it took says nothing. */
bool trial_starved(const struct exec_end *end);

/* What the end of a cell that failed says of it where no text of the target's says it
 * better: io, the text's report, becomes that, and true.  Else io stays, and it is
 * found. */
bool trial_own_report(const struct exec_end *end, const char *target, struct crash_report *io);

/* The crash of a replay without a report, and its detail. told: the text has a report.
 * CRASH_OWN_NONE: the text names the crash better. */
enum crash_own trial_own(const struct exec_end *end, bool told, char detail[32]);

#endif
