/* SPDX-License-Identifier: Apache-2.0 */
/* What a job was asked to do, and why.  Only this file writes intent, hurries, pending and ask. */
#include "runner/run/job/internal.h"

/* Whether the reason also stops the steps after fuzzing. */
static bool is_end(enum reason r)
{
	return r == REASON_STOPPED || r == REASON_DISK_LIMIT || r == REASON_LOST;
}

static void intend(struct job *j, enum intent intent)
{
	if (intent > j->intent)
		j->intent = intent;
}

void intent_none(struct job *j)
{
	j->intent = INTENT_NONE;
	j->hurries = false;
	j->ask = ASK_NOTHING;
}

void intent_forget(struct job *j)
{
	intent_none(j);
	j->pending = REASON_NONE;
}

void intent_pause(struct job *j, bool now)
{
	intend(j, INTENT_PAUSE);
	j->hurries = now;
	if (j->ask == ASK_NOTHING)
		j->ask = ASK_PAUSE;
}

void intent_pause_work(struct job *j)
{
	intent_pause(j, true);
	j->ask = ASK_PAUSE;
}

void intent_maintain(struct job *j)
{
	intent_none(j);
	intent_pause(j, false);
}

/* The first reason stays: later reasons are its consequences. */
void intent_end(struct job *j, enum reason r)
{
	intend(j, is_end(r) ? INTENT_KILL : INTENT_STOP);
	intent_set_reason(j, r);
	if (j->ask == ASK_NOTHING || j->ask == ASK_PAUSE)
		j->ask = ASK_FINISH;
}

void intent_set_reason(struct job *j, enum reason r)
{
	if (j->pending == REASON_NONE)
		j->pending = r;
}

/* Not the first reason, but more than that the time was over: nothing was fuzzed. */
void intent_blind(struct job *j)
{
	if (!is_end(j->pending))
		j->pending = REASON_NOT_INSTRUMENTED;
}

void intent_overdue(struct job *j, enum reason r)
{
	intent_set_reason(j, r);
	j->ask = ASK_FINISH;
}

void intent_unsaved(struct job *j, enum reason r)
{
	if (j->ask == ASK_PAUSE)
		j->pending = REASON_NONE;
	intent_set_reason(j, r);
}

void intent_save_input(struct job *j, enum ask why)
{
	j->ask = why;
}

void intent_next_cell(struct job *j)
{
	j->ask = ASK_NOTHING;
}
