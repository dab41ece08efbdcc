/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/job/reason.h"

#include "runner/run/job/exec.h"

#include <stdio.h>
#include <string.h>

/* The table of end reasons.  docs/exit-codes.md and docs/fuzzcell.1 have the same rows;
 * tests/unit/run/test_reason.c compares them. */
static const struct {
	const char *name;
	enum reason_counts counts;
	const char *meaning;
} reasons[] = {
    [REASON_NONE] = {"running", REASON_FUZZED, "it has not ended"},
    [REASON_PLATEAU] = {"plateau", REASON_FUZZED, "more CPU time is not expected to pay"},
    [REASON_STARVED] = {"starved", REASON_FUZZED, "as plateau, but it never had a CPU for itself"},
    [REASON_CPU_LIMIT] = {"cpu-limit", REASON_FUZZED, "it had its CPU time"},
    [REASON_TIME_LIMIT] = {"time-limit", REASON_FUZZED, "it had its time"},
    [REASON_RUN_DEADLINE] = {"run-deadline", REASON_FUZZED, "the run's time for fuzzing was over"},
    [REASON_CRASHED] = {"crashed", REASON_FUZZED,
			"it failed when too little time was left for a restart"},
    [REASON_CRASH_LOOP] = {"crash-loop", REASON_GIVEN_UP,
			   "it failed at each start, or max_crashes times"},
    [REASON_OOM_KILLED] = {"oom-killed", REASON_GIVEN_UP,
			   "as crash-loop; at last the kernel killed it for its memory"},
    [REASON_PIDS_LIMIT] = {"pids-limit", REASON_GIVEN_UP,
			   "as crash-loop; at last a fork or thread was refused"},
    [REASON_DISK_LIMIT] = {"disk-limit", REASON_GIVEN_UP,
			   "it wrote more than it may, or the disk is nearly full"},
    [REASON_STARTUP_FAILED] = {"startup-failed", REASON_UNFUZZED,
			       "it ended before fuzzing began, or did not start"},
    [REASON_NOT_INSTRUMENTED] = {"not-instrumented", REASON_UNFUZZED,
				 "the engine found no coverage instrumentation"},
    [REASON_NO_BINARY] = {"no-binary", REASON_UNFUZZED, "its binary was not built, or is gone"},
    [REASON_STOPPED] = {"stopped", REASON_FUZZED, "a user stopped it, or the whole run"},
    [REASON_LOST] = {"lost", REASON_UNFUZZED,
		     "fuzzcell could not supervise it any more, or not save its results"},
    [REASON_FINISHED] = {"finished", REASON_FUZZED, "it executed as many inputs as runs allows"},
};
_Static_assert(sizeof(reasons) / sizeof(reasons[0]) == REASON_COUNT, "name every reason");

static const struct {
	const char *name;
	enum exit_code status, status_fail_on_crash;
} counts[] = {
    [REASON_FUZZED] = {"fuzzed", EXIT_DONE, EXIT_DONE},
    [REASON_GIVEN_UP] = {"given up", EXIT_NOT_FUZZED, EXIT_CRASHES},
    [REASON_UNFUZZED] = {"not fuzzed", EXIT_NOT_FUZZED, EXIT_NOT_FUZZED},
};
_Static_assert(sizeof(counts) / sizeof(counts[0]) == REASON_COUNTS_COUNT, "give each its status");

static const char *const failures[] = {
    [FAILURE_NONE] = "none",	     [FAILURE_CRASH] = "crash",
    [FAILURE_TIMEOUT] = "timeout",   [FAILURE_OOM] = "oom",
    [FAILURE_OOM_KILL] = "oom-kill", [FAILURE_LEAK] = "leak",
    [FAILURE_PIDS] = "pids",	     [FAILURE_SYSCALL] = "syscall",
    [FAILURE_STUCK] = "stuck",	     [FAILURE_INTERRUPT] = "interrupt",
    [FAILURE_EXIT] = "exit",
};
_Static_assert(sizeof(failures) / sizeof(failures[0]) == FAILURE_COUNT, "name every failure");

const char *reason_name(enum reason r)
{
	return r < REASON_COUNT ? reasons[r].name : "unknown";
}

const char *reason_meaning(enum reason r)
{
	return r < REASON_COUNT ? reasons[r].meaning : "unknown";
}

enum reason_counts reason_counts(enum reason r)
{
	return r < REASON_COUNT ? reasons[r].counts : REASON_UNFUZZED;
}

const char *reason_counts_name(enum reason_counts c)
{
	return c < REASON_COUNTS_COUNT ? counts[c].name : "unknown";
}

enum exit_code reason_status(enum reason_counts worst, bool new_crashes, bool fail_on_crash)
{
	if (!fail_on_crash)
		return counts[worst].status;
	return new_crashes ? EXIT_CRASHES : counts[worst].status_fail_on_crash;
}

const char *failure_name(enum failure f)
{
	return f < FAILURE_COUNT ? failures[f] : "unknown";
}

enum engine_artifact failure_artifact(enum failure f)
{
	switch (f) {
	case FAILURE_OOM:
	case FAILURE_OOM_KILL:
		return ENGINE_ARTIFACT_OOM;
	case FAILURE_PIDS:
		return ENGINE_ARTIFACT_PIDS;
	case FAILURE_SYSCALL:
		return ENGINE_ARTIFACT_SYSCALL;
	case FAILURE_STUCK: /* idle for longer than any input may take */
		return ENGINE_ARTIFACT_TIMEOUT;
	case FAILURE_NONE:
	case FAILURE_CRASH:
	case FAILURE_TIMEOUT:
	case FAILURE_LEAK:
	case FAILURE_EXIT:
	case FAILURE_INTERRUPT:
	case FAILURE_COUNT:
		break;
	}
	return ENGINE_ARTIFACT_NONE;
}

static enum failure of_fault(enum engine_fault fault)
{
	switch (fault) {
	case ENGINE_FAULT_TIMEOUT:
		return FAILURE_TIMEOUT;
	case ENGINE_FAULT_OOM:
		return FAILURE_OOM;
	case ENGINE_FAULT_LEAK:
		return FAILURE_LEAK;
	case ENGINE_FAULT_CRASH:
	case ENGINE_FAULT_ENGINE:
	case ENGINE_FAULT_NONE:
	case ENGINE_FAULT_COUNT:
		break;
	}
	return FAILURE_CRASH;
}

/* The reason for our own forced dump decides, whatever the engine reported then. */
static enum failure of_ask(enum ask ask)
{
	switch (ask) {
	case ASK_MEMORY:
		return FAILURE_OOM;
	case ASK_PIDS:
		return FAILURE_PIDS;
	case ASK_SYSCALL:
		return FAILURE_SYSCALL;
	case ASK_STUCK:
		return FAILURE_STUCK;
	case ASK_RESTART:
		return FAILURE_EXIT;
	case ASK_NOTHING:
	case ASK_FINISH:
	case ASK_PAUSE:
		break;
	}
	return FAILURE_NONE;
}

static enum failure of_end(const struct cell_facts *f)
{
	switch (f->end) {
	case ENGINE_FAULTED:
		return of_fault(f->fault);
	case ENGINE_INTERRUPTED:
		return FAILURE_INTERRUPT;
	case ENGINE_KILLED:
	case ENGINE_UNKNOWN:
		return FAILURE_EXIT;
	case ENGINE_FINISHED:
	case ENGINE_STARTUP_FAILED:
	case ENGINE_NOT_INSTRUMENTED:
	case ENGINE_END_COUNT:
		break;
	}
	return FAILURE_NONE;
}

/* The failure of a cell that we stopped.  Only reports from before a forced stop count. */
static enum failure of_stopped(const struct cell_facts *f)
{
	if (f->forced)
		return f->fault_before == ENGINE_FAULT_NONE ||
			       f->fault_before == ENGINE_FAULT_ENGINE
			   ? FAILURE_NONE
			   : of_fault(f->fault_before);
	/* A report counts also if the target went on: a harness may run each input in a child. */
	return f->end == ENGINE_FAULTED || f->reported ? of_fault(f->fault) : FAILURE_NONE;
}

enum failure failure_of(const struct cell_facts *f)
{
	enum failure asked = of_ask(f->ask);

	if (!f->started)
		return FAILURE_NONE;
	if (f->oom_kills > 0)
		return FAILURE_OOM_KILL;
	if (asked != FAILURE_NONE)
		return asked;
	if (f->ask != ASK_NOTHING)
		return of_stopped(f);
	/* At the limit even the engine's own threads and tracers fail, in many ways. */
	if (f->pids_refused > 0 && f->end != ENGINE_FINISHED)
		return FAILURE_PIDS;
	return of_end(f);
}

/* --- the crash of a failure that has no report ---------------------------------------- */

static void failure_signal_name(int signo, char buf[32])
{
	const char *abbrev = sigabbrev_np(signo);

	if (abbrev)
		snprintf(buf, 32, "SIG%s", abbrev);
	else
		snprintf(buf, 32, "signal %d", signo);
}

enum crash_own failure_own(const struct exec_end *end, bool has_report, char detail[32])
{
	bool engines_oom = end->engine->fault == ENGINE_FAULT_OOM;

	*detail = '\0';
	if (end->late)
		return CRASH_OWN_TIME;
	if (end->failure == FAILURE_OOM_KILL || (end->failure == FAILURE_OOM && !engines_oom))
		return CRASH_OWN_MEMORY;
	if (end->failure == FAILURE_PIDS)
		return CRASH_OWN_PIDS;
	if (has_report)
		return CRASH_OWN_NONE;
	if (*end->refused) {
		snprintf(detail, 32, "%.31s", end->refused);
		return CRASH_OWN_SECCOMP;
	}
	if (end->failure == FAILURE_EXIT && end->engine->restarted) {
		snprintf(detail, 32, "executed itself");
		return CRASH_OWN_EXIT;
	}
	if (end->failure == FAILURE_INTERRUPT)
		return CRASH_OWN_INTERRUPT;
	if (end->signo) {
		failure_signal_name(end->signo, detail);
		return CRASH_OWN_SIGNAL;
	}
	snprintf(detail, 32, "status %d", end->code);
	return CRASH_OWN_EXIT;
}

/* An engine's artifact of a failure that the target's report names. */
static enum engine_artifact failure_reported_artifact(enum failure f)
{
	if (f == FAILURE_TIMEOUT)
		return ENGINE_ARTIFACT_TIMEOUT;
	if (f == FAILURE_LEAK)
		return ENGINE_ARTIFACT_LEAK;
	return f == FAILURE_OOM ? ENGINE_ARTIFACT_OOM : ENGINE_ARTIFACT_CRASH;
}

static struct failure_cause failure_cause_of(enum crash_own own, const char *detail, enum failure f)
{
	static const struct {
		enum crash_own own;
		enum engine_artifact artifact;
	} acts[] = {
	    {CRASH_OWN_TIME, ENGINE_ARTIFACT_TIMEOUT},
	    {CRASH_OWN_MEMORY, ENGINE_ARTIFACT_OOM},
	    {CRASH_OWN_PIDS, ENGINE_ARTIFACT_PIDS},
	    {CRASH_OWN_SECCOMP, ENGINE_ARTIFACT_SYSCALL},
	};
	struct failure_cause c = {CRASH_OWN_NONE, "", failure_reported_artifact(f)};

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (acts[i].own == own) {
			c.own = own;
			c.artifact = acts[i].artifact;
			snprintf(c.detail, sizeof(c.detail), "%s", detail);
		}
	return c;
}

struct failure_cause failure_own_report(const struct exec_end *end, const char *target,
					struct crash_report *io)
{
	char detail[32];
	enum crash_own own = failure_own(end, io->found, detail);

	if (own != CRASH_OWN_NONE) {
		crash_report_done(io);
		crash_report_own(own, *detail ? detail : NULL, target, io);
	}
	return failure_cause_of(own, detail, end->failure);
}

/* --- the reason ------------------------------------------------------------------------ */

static enum reason loop_reason(enum failure what)
{
	if (what == FAILURE_OOM_KILL)
		return REASON_OOM_KILLED;
	return what == FAILURE_PIDS ? REASON_PIDS_LIMIT : REASON_CRASH_LOOP;
}

/* Fuzzing goes on after a failure, however often it comes: there may be another bug behind a
 * shallow bug.  But a target that fails at each start is not fuzzed. */
static bool is_loop(const struct loop_guard *g)
{
	uint32_t most = g->fuzzed ? STILLBORN_LATER_MAX : STILLBORN_FIRST_MAX;

	return (g->failures_max > 0 && g->failures >= g->failures_max) ||
	       g->stillborn >= most + g->taken || g->stillborn >= STILLBORN_TAKEN_MAX;
}

enum reason reason_after(const struct cell_facts *f, enum failure what, const struct loop_guard *g)
{
	if (!f->started)
		return REASON_STARTUP_FAILED;
	if (f->end == ENGINE_NOT_INSTRUMENTED)
		return REASON_NOT_INSTRUMENTED;
	if (what == FAILURE_NONE)
		return f->end == ENGINE_STARTUP_FAILED ? REASON_STARTUP_FAILED : REASON_FINISHED;
	if ((what == FAILURE_EXIT || what == FAILURE_INTERRUPT) && !f->fuzzed)
		return REASON_STARTUP_FAILED;
	return is_loop(g) ? loop_reason(what) : REASON_NONE;
}
