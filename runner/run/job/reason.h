/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_REASON_H
#define RUNNER_RUN_JOB_REASON_H

#include "runner/crash/report/report.h"
#include "runner/engine/engine.h"
#include "runner/exit_code.h"

#include <stdbool.h>
#include <stdint.h>

/* How a target's part of a run ended: exactly one reason, in the summary, the JSON and the
 * histories. */
enum reason {
	REASON_NONE, /* still going */
	REASON_PLATEAU,
	REASON_STARVED,	  /* as plateau, but it never had a CPU for itself */
	REASON_CPU_LIMIT, /* its CPU time is used up */
	REASON_TIME_LIMIT,
	REASON_RUN_DEADLINE,
	REASON_CRASHED,
	REASON_CRASH_LOOP,
	REASON_OOM_KILLED,
	REASON_PIDS_LIMIT,
	REASON_DISK_LIMIT,
	REASON_STARTUP_FAILED,
	REASON_NOT_INSTRUMENTED,
	REASON_NO_BINARY,
	REASON_STOPPED,
	REASON_LOST,
	REASON_FINISHED,
	REASON_COUNT,
};
const char *reason_name(enum reason r); /* "plateau", "time-limit", ... */
/* A sentence without its full stop, the same in docs/exit-codes.md and docs/fuzzcell.1. */
const char *reason_meaning(enum reason r);

/* How an end reason counts when fuzzing began. */
enum reason_counts {
	REASON_FUZZED,
	REASON_GIVEN_UP, /* fuzzing began, and stopped early because of the target */
	REASON_UNFUZZED, /* nothing shows that the target was fuzzed */
	REASON_COUNTS_COUNT,
};
enum reason_counts reason_counts(enum reason r);
const char *reason_counts_name(enum reason_counts c); /* "fuzzed", "given up", ... */

/* The exit status of a run, from its worst target.  new_crashes: any target has new crashes.  They
 * matter only with fail_on_crash, and then before anything else. */
enum exit_code reason_status(enum reason_counts worst, bool new_crashes, bool fail_on_crash);

/* How one cell failed.  failure_of() believes the kernel before the target's output. */
enum failure {
	FAILURE_NONE,
	FAILURE_CRASH,
	FAILURE_TIMEOUT,
	FAILURE_OOM,	  /* saved: the engine's limit, or our forced dump at the memory mark */
	FAILURE_OOM_KILL, /* the kernel's kill: the input may be lost */
	FAILURE_LEAK,
	FAILURE_PIDS,	   /* a fork or thread was refused */
	FAILURE_SYSCALL,   /* a system call was refused */
	FAILURE_STUCK,	   /* neither ran nor waited for a resource: stopped, deadlocked */
	FAILURE_INTERRUPT, /* ended as if by a stop signal, but fuzzcell sent none */
	FAILURE_EXIT,	   /* died without a report: killed by a signal, unexpected exit */
	FAILURE_COUNT,
};
const char *failure_name(enum failure f); /* "crash", "oom-kill", ... */
/* The kind of its artifact; ENGINE_ARTIFACT_NONE: the engine decides. */
enum engine_artifact failure_artifact(enum failure f);

/* Why fuzzcell ended a cell, if it did. */
enum ask {
	ASK_NOTHING,
	ASK_FINISH,  /* for good: the job's reason is already known */
	ASK_PAUSE,   /* to continue later */
	ASK_MEMORY,  /* the input in work passed the memory mark */
	ASK_PIDS,    /* the input in work made the kernel refuse a fork */
	ASK_SYSCALL, /* the input in work made a forbidden system call */
	ASK_STUCK,   /* the input in work is idle for longer than any input may take */
	ASK_RESTART, /* the target executed itself: its engine started again */
};

/* The facts about one cell when it is gone. */
struct cell_facts {
	bool started;	 /* false: crun could not start it */
	int code, signo; /* exit status, or the signal (then code is 0) */
	enum ask ask;
	bool forced;			/* the stop ladder went beyond the polite stop */
	bool reported;			/* the engine reported a fault, and named its artifact */
	enum engine_fault fault_before; /* what the engine reported before a forced stop */
	uint64_t oom_kills;		/* by the kernel, in this cell */
	uint64_t pids_refused;
	enum engine_end end; /* as the engine classifies it */
	enum engine_fault fault;
	bool fuzzed; /* fuzzing began in this cell */
};
enum failure failure_of(const struct cell_facts *f);

/* What caused a failure, for the queue (runner/run/triage/kept.h). */
struct failure_cause {
	/* An act of the kernel or of the cell: a refused system call, a memory or process limit,
	 * the deadline.  CRASH_OWN_NONE: the target's report names the failure. */
	enum crash_own own;
	char detail[32];
	enum engine_artifact artifact; /* the kind of its input, as of an artifact */
};

struct exec_end;
/* Names the failure of a cell by the cell's end, unless the target's text names it better.  io: the
 * report of the text, which may be replaced by the name from the cell's end. */
struct failure_cause failure_own_report(const struct exec_end *end, const char *target,
					struct crash_report *io);

/* The crash of a cell without a report, and its detail.  has_report: the text has one.
 * CRASH_OWN_NONE: the text names the crash better. */
enum crash_own failure_own(const struct exec_end *end, bool has_report, char detail[32]);

/* Bounds for restarts of a failing job. */
struct loop_guard {
	uint32_t failures;     /* in this run */
	bool fuzzed;	       /* fuzzing began at least once in this run */
	uint32_t failures_max; /* "max_crashes"; 0: no limit */
	uint32_t stillborn;    /* failures in a row, each before fuzzing began in its cell */
	uint32_t taken;	       /* stillborn failures with an input that left the corpus */
};
enum {
	STILLBORN_FIRST_MAX = 3,  /* of stillborn - taken, when fuzzing never began in this run */
	STILLBORN_LATER_MAX = 10, /* the same, when it did */
	STILLBORN_TAKEN_MAX = 100 /* of stillborn */
};

/* The reason to end the job after a cell that was not asked to finish or pause; REASON_NONE: start
 * it again. */
enum reason reason_after(const struct cell_facts *f, enum failure what, const struct loop_guard *g);

#endif
