/* SPDX-License-Identifier: Apache-2.0 */
/* Names a failure that has no report. */
#include "runner/run/triage/trial.h"

#include <stdio.h>
#include <string.h>

static void signal_name(int signo, char buf[32])
{
	const char *abbrev = sigabbrev_np(signo);

	if (abbrev)
		snprintf(buf, 32, "SIG%s", abbrev);
	else
		snprintf(buf, 32, "signal %d", signo);
}

enum crash_own trial_own(const struct exec_end *end, bool told, char detail[32])
{
	bool engines_oom = end->engine->fault == ENGINE_FAULT_OOM;

	*detail = '\0';
	if (end->late)
		return CRASH_OWN_TIME;
	if (end->failure == FAILURE_OOM_KILL || (end->failure == FAILURE_OOM && !engines_oom))
		return CRASH_OWN_MEMORY;
	if (end->failure == FAILURE_PIDS)
		return CRASH_OWN_PIDS;
	if (told)
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
		signal_name(end->signo, detail);
		return CRASH_OWN_SIGNAL;
	}
	snprintf(detail, 32, "status %d", end->code);
	return CRASH_OWN_EXIT;
}

bool trial_own_report(const struct exec_end *end, const char *target, struct crash_report *io)
{
	char detail[32];
	enum crash_own own = trial_own(end, io->found, detail);

	if (own == CRASH_OWN_NONE)
		return false;
	crash_report_done(io);
	crash_report_own(own, *detail ? detail : NULL, target, io);
	return true;
}

bool trial_goes_past_ub(const struct known_crash *c)
{
	return c && *c->kind && strcmp(c->kind, crash_kind_name(CRASH_UBSAN)) != 0;
}
