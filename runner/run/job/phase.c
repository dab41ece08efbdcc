/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/job/phase.h"

#include <assert.h>

static const char *const names[] = {
    [PHASE_QUEUED] = "queued",	       [PHASE_PREPARING] = "preparing",
    [PHASE_RUNNING] = "fuzzing",       [PHASE_POLITE] = "stopping",
    [PHASE_DUMPING] = "dumping",       [PHASE_KILLING] = "killing",
    [PHASE_COLLECTING] = "collecting", [PHASE_TRIAGING] = "triaging",
    [PHASE_MERGING] = "merging",       [PHASE_DONE] = "done",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == PHASE_COUNT, "name every phase");

/* An empty entry is ACTION_NONE: the phase stays, and nothing is done. */
static const struct phase_step table[PHASE_COUNT][EVENT_COUNT] =
    {
	[PHASE_QUEUED] =
	    {
		[EVENT_START] = {PHASE_PREPARING, ACTION_PREPARE},
		[EVENT_TRIAGE] = {PHASE_TRIAGING, ACTION_TRIAGE},
		[EVENT_MERGE] = {PHASE_MERGING, ACTION_MERGE},
		[EVENT_FINAL] = {PHASE_DONE, ACTION_FINISH},
	    },
	/* A stop waits for the child: its work is short, and half a layout is unusable. */
	[PHASE_PREPARING] =
	    {
		[EVENT_READY] = {PHASE_RUNNING, ACTION_LAUNCH},
		[EVENT_TRIAGE] = {PHASE_TRIAGING, ACTION_TRIAGE},
		[EVENT_ENDED] = {PHASE_COLLECTING, ACTION_COLLECT},
	    },
	[PHASE_RUNNING] =
	    {
		[EVENT_STOP] = {PHASE_POLITE, ACTION_ASK},
		[EVENT_STOP_NOW] = {PHASE_DUMPING, ACTION_DUMP},
		[EVENT_KILL] = {PHASE_KILLING, ACTION_KILL},
		[EVENT_ENDED] = {PHASE_COLLECTING, ACTION_COLLECT},
	    },
	[PHASE_POLITE] =
	    {
		[EVENT_STOP_NOW] = {PHASE_DUMPING, ACTION_DUMP},
		[EVENT_KILL] = {PHASE_KILLING, ACTION_KILL},
		[EVENT_GRACE] = {PHASE_DUMPING, ACTION_DUMP},
		[EVENT_ENDED] = {PHASE_COLLECTING, ACTION_COLLECT},
	    },
	[PHASE_DUMPING] =
	    {
		[EVENT_KILL] = {PHASE_KILLING, ACTION_KILL},
		[EVENT_GRACE] = {PHASE_KILLING, ACTION_KILL},
		[EVENT_ENDED] = {PHASE_COLLECTING, ACTION_COLLECT},
	    },
	[PHASE_KILLING] =
	    {
		[EVENT_ENDED] = {PHASE_COLLECTING, ACTION_COLLECT},
	    },
	[PHASE_COLLECTING] =
	    {
		[EVENT_AGAIN] = {PHASE_RUNNING, ACTION_RELAUNCH},
		[EVENT_PAUSED] = {PHASE_QUEUED, ACTION_REQUEUE},
		[EVENT_TRIAGE] = {PHASE_TRIAGING, ACTION_TRIAGE},
		[EVENT_MERGE] = {PHASE_MERGING, ACTION_MERGE},
		[EVENT_FINAL] = {PHASE_DONE, ACTION_FINISH},
	    },
	[PHASE_TRIAGING] =
	    {
		[EVENT_READY] = {PHASE_RUNNING, ACTION_LAUNCH},
		[EVENT_AGAIN] = {PHASE_RUNNING, ACTION_RELAUNCH},
		[EVENT_PAUSED] = {PHASE_QUEUED, ACTION_REQUEUE},
		[EVENT_TRIAGE] = {PHASE_TRIAGING, ACTION_TRIAGE},
		[EVENT_KILL] = {PHASE_TRIAGING, ACTION_STOP_TRIAGE},
		[EVENT_MERGE] = {PHASE_MERGING, ACTION_MERGE},
		[EVENT_FINAL] = {PHASE_DONE, ACTION_FINISH},
	    },
	[PHASE_MERGING] =
	    {
		[EVENT_KILL] = {PHASE_MERGING, ACTION_STOP_MERGE},
		[EVENT_PAUSED] = {PHASE_QUEUED, ACTION_REQUEUE},
		[EVENT_TRIAGE] = {PHASE_TRIAGING, ACTION_TRIAGE},
		[EVENT_FINAL] = {PHASE_DONE, ACTION_FINISH},
	    },
	[PHASE_DONE] = {{PHASE_QUEUED, ACTION_NONE}},
};

struct phase_step phase_step(enum phase p, enum phase_event ev)
{
	struct phase_step s;

	assert(p < PHASE_COUNT && ev < EVENT_COUNT);
	s = table[p][ev];
	if (s.action == ACTION_NONE)
		s.next = p;
	return s;
}

const char *phase_name(enum phase p)
{
	return p < PHASE_COUNT ? names[p] : "unknown";
}
