/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/schedule/reason.h"

static const char *const reasons[] = {
    [REASON_NONE] = "running",
    [REASON_PLATEAU] = "plateau",
    [REASON_STARVED] = "starved",
    [REASON_CPU_LIMIT] = "cpu-limit",
    [REASON_TIME_LIMIT] = "time-limit",
    [REASON_RUN_DEADLINE] = "run-deadline",
    [REASON_CRASHED] = "crashed",
    [REASON_CRASH_LOOP] = "crash-loop",
    [REASON_OOM_KILLED] = "oom-killed",
    [REASON_PIDS_LIMIT] = "pids-limit",
    [REASON_DISK_LIMIT] = "disk-limit",
    [REASON_STARTUP_FAILED] = "startup-failed",
    [REASON_NOT_INSTRUMENTED] = "not-instrumented",
    [REASON_NO_BINARY] = "no-binary",
    [REASON_STOPPED] = "stopped",
    [REASON_LOST] = "lost",
    [REASON_FINISHED] = "finished",
};
_Static_assert(sizeof(reasons) / sizeof(reasons[0]) == REASON_, "name every reason");

static const char *const failures[] = {
    [FAILURE_NONE] = "none", [FAILURE_CRASH] = "crash",	      [FAILURE_TIMEOUT] = "timeout",
    [FAILURE_OOM] = "oom",   [FAILURE_OOM_KILL] = "oom-kill", [FAILURE_LEAK] = "leak",
    [FAILURE_PIDS] = "pids", [FAILURE_SYSCALL] = "syscall",   [FAILURE_STUCK] = "stuck",
    [FAILURE_EXIT] = "exit",
};
_Static_assert(sizeof(failures) / sizeof(failures[0]) == FAILURE_, "name every failure");

const char *reason_name(enum reason r)
{
	return r < REASON_ ? reasons[r] : "unknown";
}

const char *failure_name(enum failure f)
{
	return f < FAILURE_ ? failures[f] : "unknown";
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
	case FAILURE_STUCK: /* held still for longer than any input may take */
		return ENGINE_ARTIFACT_TIMEOUT;
	case FAILURE_NONE:
	case FAILURE_CRASH:
	case FAILURE_TIMEOUT:
	case FAILURE_LEAK:
	case FAILURE_EXIT:
	case FAILURE_:
		break;
	}
	return ENGINE_ARTIFACT_NONE;
}

bool reason_is_failure(enum reason r)
{
	switch (r) {
	case REASON_STARTUP_FAILED:
	case REASON_NOT_INSTRUMENTED:
	case REASON_NO_BINARY:
	case REASON_LOST:
		return true;
	case REASON_NONE:
	case REASON_PLATEAU:
	case REASON_STARVED:
	case REASON_CPU_LIMIT:
	case REASON_TIME_LIMIT:
	case REASON_RUN_DEADLINE:
	case REASON_CRASHED:
	case REASON_CRASH_LOOP:
	case REASON_OOM_KILLED:
	case REASON_PIDS_LIMIT:
	case REASON_DISK_LIMIT:
	case REASON_STOPPED:
	case REASON_FINISHED:
	case REASON_:
		break;
	}
	return false;
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
	case ENGINE_FAULT_:
		break;
	}
	return FAILURE_CRASH;
}

/* What our own forced dump was for, whatever the engine then called it. */
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
	case ENGINE_KILLED:
	case ENGINE_UNKNOWN:
		return FAILURE_EXIT;
	case ENGINE_FINISHED:
	case ENGINE_STARTUP_FAILED:
	case ENGINE_NOT_INSTRUMENTED:
	case ENGINE_INTERRUPTED:
	case ENGINE_END_:
		break;
	}
	return FAILURE_NONE;
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
	if (f->ask != ASK_NOTHING) {
		/* Ended for our reasons: only a report of the target's own that came
		 * first counts; the forced dump at the end of the ladder does not. */
		return f->forced || f->end != ENGINE_FAULTED ? FAILURE_NONE : of_fault(f->fault);
	}
	/* At the limit even the engine's own threads and tracers fail, in many ways. */
	if (f->pids_refused > 0 && f->end != ENGINE_FINISHED && f->end != ENGINE_INTERRUPTED)
		return FAILURE_PIDS;
	return of_end(f);
}

static enum reason loop_reason(enum failure what)
{
	if (what == FAILURE_OOM_KILL)
		return REASON_OOM_KILLED;
	return what == FAILURE_PIDS ? REASON_PIDS_LIMIT : REASON_CRASH_LOOP;
}

enum reason reason_after(const struct cell_facts *f, enum failure what, const struct loop_guard *g)
{
	if (!f->started)
		return REASON_STARTUP_FAILED;
	if (f->end == ENGINE_NOT_INSTRUMENTED)
		return REASON_NOT_INSTRUMENTED;
	if (what == FAILURE_NONE) {
		if (f->end == ENGINE_STARTUP_FAILED)
			return REASON_STARTUP_FAILED;
		return f->end == ENGINE_INTERRUPTED ? REASON_STOPPED : REASON_FINISHED;
	}
	if (what == FAILURE_EXIT && !f->fuzzed)
		return REASON_STARTUP_FAILED;
	if (g->failures >= g->failures_max || g->barren >= (g->fuzzed ? BARREN_MAX : STILLBORN_MAX))
		return loop_reason(what);
	return REASON_NONE;
}
