/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/run/job/phase.h"

#include <stdbool.h>

/* The whole table: a pair that is missing here must keep its phase and do nothing. */
static const struct {
	enum phase from;
	enum phase_event ev;
	enum phase to;
	enum phase_action action;
} want[] = {
    {PHASE_QUEUED, EVENT_START, PHASE_PREPARING, ACTION_PREPARE},
    {PHASE_QUEUED, EVENT_RESTS, PHASE_RESTING, ACTION_WAIT},
    {PHASE_QUEUED, EVENT_CAPPED, PHASE_CAPPED, ACTION_WAIT},
    {PHASE_QUEUED, EVENT_HELD, PHASE_HELD, ACTION_WAIT},
    {PHASE_QUEUED, EVENT_FINAL, PHASE_DONE, ACTION_FINISH},
    {PHASE_QUEUED, EVENT_TRIAGE, PHASE_TRIAGING, ACTION_TRIAGE},
    {PHASE_QUEUED, EVENT_MERGE, PHASE_MERGING, ACTION_MERGE},
    {PHASE_RESTING, EVENT_START, PHASE_PREPARING, ACTION_PREPARE},
    {PHASE_RESTING, EVENT_PAUSED, PHASE_QUEUED, ACTION_WAIT},
    {PHASE_RESTING, EVENT_CAPPED, PHASE_CAPPED, ACTION_WAIT},
    {PHASE_RESTING, EVENT_HELD, PHASE_HELD, ACTION_WAIT},
    {PHASE_RESTING, EVENT_FINAL, PHASE_DONE, ACTION_FINISH},
    {PHASE_RESTING, EVENT_TRIAGE, PHASE_TRIAGING, ACTION_TRIAGE},
    {PHASE_RESTING, EVENT_MERGE, PHASE_MERGING, ACTION_MERGE},
    {PHASE_CAPPED, EVENT_PAUSED, PHASE_QUEUED, ACTION_WAIT},
    {PHASE_CAPPED, EVENT_RESTS, PHASE_RESTING, ACTION_WAIT},
    {PHASE_CAPPED, EVENT_HELD, PHASE_HELD, ACTION_WAIT},
    {PHASE_CAPPED, EVENT_FINAL, PHASE_DONE, ACTION_FINISH},
    {PHASE_CAPPED, EVENT_TRIAGE, PHASE_TRIAGING, ACTION_TRIAGE},
    {PHASE_CAPPED, EVENT_MERGE, PHASE_MERGING, ACTION_MERGE},
    {PHASE_HELD, EVENT_START, PHASE_PREPARING, ACTION_PREPARE},
    {PHASE_HELD, EVENT_PAUSED, PHASE_QUEUED, ACTION_WAIT},
    {PHASE_HELD, EVENT_RESTS, PHASE_RESTING, ACTION_WAIT},
    {PHASE_HELD, EVENT_CAPPED, PHASE_CAPPED, ACTION_WAIT},
    {PHASE_HELD, EVENT_FINAL, PHASE_DONE, ACTION_FINISH},
    {PHASE_HELD, EVENT_TRIAGE, PHASE_TRIAGING, ACTION_TRIAGE},
    {PHASE_HELD, EVENT_MERGE, PHASE_MERGING, ACTION_MERGE},
    {PHASE_PREPARING, EVENT_READY, PHASE_FUZZING, ACTION_LAUNCH},
    {PHASE_PREPARING, EVENT_ENDED, PHASE_COLLECTING, ACTION_COLLECT},
    {PHASE_FUZZING, EVENT_STOP, PHASE_STOPPING, ACTION_ASK},
    {PHASE_FUZZING, EVENT_STOP_NOW, PHASE_DUMPING, ACTION_DUMP},
    {PHASE_FUZZING, EVENT_KILL, PHASE_KILLING, ACTION_KILL},
    {PHASE_FUZZING, EVENT_ENDED, PHASE_COLLECTING, ACTION_COLLECT},
    {PHASE_STOPPING, EVENT_STOP_NOW, PHASE_DUMPING, ACTION_DUMP},
    {PHASE_STOPPING, EVENT_KILL, PHASE_KILLING, ACTION_KILL},
    {PHASE_STOPPING, EVENT_GRACE, PHASE_DUMPING, ACTION_DUMP},
    {PHASE_STOPPING, EVENT_ENDED, PHASE_COLLECTING, ACTION_COLLECT},
    {PHASE_DUMPING, EVENT_KILL, PHASE_KILLING, ACTION_KILL},
    {PHASE_DUMPING, EVENT_GRACE, PHASE_KILLING, ACTION_KILL},
    {PHASE_DUMPING, EVENT_ENDED, PHASE_COLLECTING, ACTION_COLLECT},
    {PHASE_KILLING, EVENT_ENDED, PHASE_COLLECTING, ACTION_COLLECT},
    {PHASE_COLLECTING, EVENT_AGAIN, PHASE_FUZZING, ACTION_RELAUNCH},
    {PHASE_COLLECTING, EVENT_PAUSED, PHASE_QUEUED, ACTION_REQUEUE},
    {PHASE_COLLECTING, EVENT_RESTS, PHASE_RESTING, ACTION_REQUEUE},
    {PHASE_COLLECTING, EVENT_CAPPED, PHASE_CAPPED, ACTION_REQUEUE},
    {PHASE_COLLECTING, EVENT_HELD, PHASE_HELD, ACTION_REQUEUE},
    {PHASE_COLLECTING, EVENT_FINAL, PHASE_DONE, ACTION_FINISH},
    {PHASE_PREPARING, EVENT_TRIAGE, PHASE_TRIAGING, ACTION_TRIAGE},
    {PHASE_COLLECTING, EVENT_TRIAGE, PHASE_TRIAGING, ACTION_TRIAGE},
    {PHASE_TRIAGING, EVENT_READY, PHASE_FUZZING, ACTION_LAUNCH},
    {PHASE_TRIAGING, EVENT_AGAIN, PHASE_FUZZING, ACTION_RELAUNCH},
    {PHASE_TRIAGING, EVENT_PAUSED, PHASE_QUEUED, ACTION_REQUEUE},
    {PHASE_TRIAGING, EVENT_RESTS, PHASE_RESTING, ACTION_REQUEUE},
    {PHASE_TRIAGING, EVENT_CAPPED, PHASE_CAPPED, ACTION_REQUEUE},
    {PHASE_TRIAGING, EVENT_HELD, PHASE_HELD, ACTION_REQUEUE},
    {PHASE_TRIAGING, EVENT_TRIAGE, PHASE_TRIAGING, ACTION_TRIAGE},
    {PHASE_TRIAGING, EVENT_KILL, PHASE_TRIAGING, ACTION_STOP_TRIAGE},
    {PHASE_TRIAGING, EVENT_FINAL, PHASE_DONE, ACTION_FINISH},
    {PHASE_COLLECTING, EVENT_MERGE, PHASE_MERGING, ACTION_MERGE},
    {PHASE_TRIAGING, EVENT_MERGE, PHASE_MERGING, ACTION_MERGE},
    {PHASE_MERGING, EVENT_KILL, PHASE_MERGING, ACTION_STOP_MERGE},
    {PHASE_MERGING, EVENT_PAUSED, PHASE_QUEUED, ACTION_REQUEUE},
    {PHASE_MERGING, EVENT_RESTS, PHASE_RESTING, ACTION_REQUEUE},
    {PHASE_MERGING, EVENT_CAPPED, PHASE_CAPPED, ACTION_REQUEUE},
    {PHASE_MERGING, EVENT_HELD, PHASE_HELD, ACTION_REQUEUE},
    {PHASE_MERGING, EVENT_TRIAGE, PHASE_TRIAGING, ACTION_TRIAGE},
    {PHASE_MERGING, EVENT_FINAL, PHASE_DONE, ACTION_FINISH},
    {PHASE_QUEUED, EVENT_CHECK, PHASE_CHECKING, ACTION_CHECK},
    {PHASE_RESTING, EVENT_CHECK, PHASE_CHECKING, ACTION_CHECK},
    {PHASE_CAPPED, EVENT_CHECK, PHASE_CHECKING, ACTION_CHECK},
    {PHASE_HELD, EVENT_CHECK, PHASE_CHECKING, ACTION_CHECK},
    {PHASE_COLLECTING, EVENT_CHECK, PHASE_CHECKING, ACTION_CHECK},
    {PHASE_TRIAGING, EVENT_CHECK, PHASE_CHECKING, ACTION_CHECK},
    {PHASE_MERGING, EVENT_CHECK, PHASE_CHECKING, ACTION_CHECK},
    {PHASE_COLLECTING, EVENT_COVER, PHASE_COVERING, ACTION_COVER},
    {PHASE_TRIAGING, EVENT_COVER, PHASE_COVERING, ACTION_COVER},
    {PHASE_MERGING, EVENT_COVER, PHASE_COVERING, ACTION_COVER},
    {PHASE_CHECKING, EVENT_COVER, PHASE_COVERING, ACTION_COVER},
    {PHASE_COVERING, EVENT_AGAIN, PHASE_FUZZING, ACTION_RELAUNCH},
    {PHASE_COVERING, EVENT_PAUSED, PHASE_QUEUED, ACTION_REQUEUE},
    {PHASE_COVERING, EVENT_RESTS, PHASE_RESTING, ACTION_REQUEUE},
    {PHASE_COVERING, EVENT_CAPPED, PHASE_CAPPED, ACTION_REQUEUE},
    {PHASE_COVERING, EVENT_HELD, PHASE_HELD, ACTION_REQUEUE},
    {PHASE_COVERING, EVENT_TRIAGE, PHASE_TRIAGING, ACTION_TRIAGE},
    {PHASE_COVERING, EVENT_MERGE, PHASE_MERGING, ACTION_MERGE},
    {PHASE_COVERING, EVENT_CHECK, PHASE_CHECKING, ACTION_CHECK},
    {PHASE_COVERING, EVENT_KILL, PHASE_COVERING, ACTION_STOP_COVER},
    {PHASE_COVERING, EVENT_FINAL, PHASE_DONE, ACTION_FINISH},
    {PHASE_CHECKING, EVENT_AGAIN, PHASE_FUZZING, ACTION_RELAUNCH},
    {PHASE_CHECKING, EVENT_PAUSED, PHASE_QUEUED, ACTION_REQUEUE},
    {PHASE_CHECKING, EVENT_RESTS, PHASE_RESTING, ACTION_REQUEUE},
    {PHASE_CHECKING, EVENT_CAPPED, PHASE_CAPPED, ACTION_REQUEUE},
    {PHASE_CHECKING, EVENT_HELD, PHASE_HELD, ACTION_REQUEUE},
    {PHASE_CHECKING, EVENT_TRIAGE, PHASE_TRIAGING, ACTION_TRIAGE},
    {PHASE_CHECKING, EVENT_MERGE, PHASE_MERGING, ACTION_MERGE},
    {PHASE_CHECKING, EVENT_CHECK, PHASE_CHECKING, ACTION_CHECK},
    {PHASE_CHECKING, EVENT_KILL, PHASE_CHECKING, ACTION_STOP_CHECK},
    {PHASE_CHECKING, EVENT_FINAL, PHASE_DONE, ACTION_FINISH},
    {PHASE_DONE, EVENT_REVIVED, PHASE_QUEUED, ACTION_REVIVE},
};

enum { WANT = sizeof(want) / sizeof(want[0]) };

static const enum phase living[] = {PHASE_FUZZING, PHASE_STOPPING, PHASE_DUMPING, PHASE_KILLING};

static int wanted(enum phase p, enum phase_event ev)
{
	for (int i = 0; i < WANT; i++)
		if (want[i].from == p && want[i].ev == ev)
			return i;
	return -1;
}

static void test_every_cell(void **state)
{
	int seen = 0;

	(void)state;
	for (unsigned p = 0; p < PHASE_COUNT; p++)
		for (unsigned ev = 0; ev < EVENT_COUNT; ev++) {
			struct phase_step s = phase_step((enum phase)p, (enum phase_event)ev);
			int w = wanted((enum phase)p, (enum phase_event)ev);

			print_message("# %s, event %u\n", phase_name((enum phase)p), ev);
			assert_int_equal(s.next, w < 0 ? (enum phase)p : want[w].to);
			assert_int_equal(s.action, w < 0 ? ACTION_NONE : want[w].action);
			seen += w >= 0;
		}
	assert_int_equal(seen, WANT);
}

/* All kinds of waiting count as one phase. */
static int phase_or_waiting(enum phase p)
{
	return phase_waits(p) ? (int)PHASE_QUEUED : (int)p;
}

/* Each action is used, and always leads to the same phase. */
static void test_actions(void **state)
{
	(void)state;
	for (unsigned a = ACTION_NONE + 1; a < ACTION_COUNT; a++) {
		int to = -1;

		for (int i = 0; i < WANT; i++) {
			struct phase_step s = phase_step(want[i].from, want[i].ev);

			if (s.action != (enum phase_action)a)
				continue;
			assert_true(to < 0 || to == phase_or_waiting(s.next));
			to = phase_or_waiting(s.next);
		}
		assert_true(to >= 0);
	}
}

static bool reaches_done(enum phase from, bool only_time)
{
	bool at[PHASE_COUNT] = {false};

	at[from] = true;
	for (unsigned round = 0; round < PHASE_COUNT; round++)
		for (unsigned p = 0; p < PHASE_COUNT; p++)
			for (unsigned ev = 0; at[p] && ev < EVENT_COUNT; ev++) {
				/* Events that follow a stop without further requests. */
				if (only_time && ev != EVENT_GRACE && ev != EVENT_ENDED &&
				    ev != EVENT_FINAL)
					continue;
				at[phase_step((enum phase)p, (enum phase_event)ev).next] = true;
			}
	return at[PHASE_DONE];
}

static void test_done_is_reachable(void **state)
{
	(void)state;
	for (unsigned p = 0; p < PHASE_COUNT; p++) {
		assert_true(reaches_done((enum phase)p, false));
		assert_true(reaches_done((enum phase)p, true));
	}
	for (unsigned ev = 0; ev < EVENT_COUNT; ev++)
		assert_int_equal(phase_step(PHASE_DONE, (enum phase_event)ev).action,
				 ev == EVENT_REVIVED ? ACTION_REVIVE : ACTION_NONE);
}

/* The policy changes its reason at any time: each kind of waiting leads to each other kind.  Work
 * that is over leads to each kind. */
static void test_waiting(void **state)
{
	static const enum phase_event events[] = {EVENT_PAUSED, EVENT_RESTS, EVENT_CAPPED,
						  EVENT_HELD};
	static const enum phase work[] = {PHASE_COLLECTING, PHASE_TRIAGING, PHASE_MERGING};

	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		enum phase to = (enum phase)(PHASE_QUEUED + k);

		assert_true(phase_waits(to));
		for (unsigned p = 0; p < 4; p++)
			assert_int_equal(phase_step((enum phase)p, events[k]).next, to);
		for (unsigned p = 0; p < 3; p++)
			assert_int_equal(phase_step(work[p], events[k]).next, to);
	}
	for (unsigned p = PHASE_PREPARING; p < PHASE_COUNT; p++)
		assert_false(phase_waits((enum phase)p));
}

/* In each stopping phase a kill kills the cell, and its end is collected.  The sequence of grace
 * periods ends in the kill. */
static void test_living_cells(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(living) / sizeof(living[0]); i++) {
		struct phase_step s = phase_step(living[i], EVENT_KILL);

		assert_int_equal(s.next, PHASE_KILLING);
		assert_int_equal(s.action, living[i] == PHASE_KILLING ? ACTION_NONE : ACTION_KILL);
		s = phase_step(living[i], EVENT_ENDED);
		assert_int_equal(s.next, PHASE_COLLECTING);
		assert_int_equal(s.action, ACTION_COLLECT);
		/* Only the end of a cell leaves the phases in which it may live. */
		for (unsigned ev = 0; ev < EVENT_COUNT; ev++)
			if (ev != EVENT_ENDED) {
				s = phase_step(living[i], (enum phase_event)ev);
				assert_in_range(s.next, living[i], PHASE_KILLING);
			}
	}
	assert_int_equal(phase_step(PHASE_STOPPING, EVENT_GRACE).next, PHASE_DUMPING);
	assert_int_equal(phase_step(PHASE_DUMPING, EVENT_GRACE).next, PHASE_KILLING);
}

static void test_names(void **state)
{
	(void)state;
	for (unsigned p = 0; p < PHASE_COUNT; p++) {
		assert_true(*phase_name((enum phase)p));
		for (unsigned q = 0; q < p; q++)
			assert_string_not_equal(phase_name((enum phase)p),
						phase_name((enum phase)q));
	}
	/* The output table sorts by this order. */
	assert_string_equal(phase_name(PHASE_QUEUED), "queued");
	assert_string_equal(phase_name(PHASE_COUNT), "unknown");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_cell),	      cmocka_unit_test(test_actions),
    cmocka_unit_test(test_done_is_reachable), cmocka_unit_test(test_waiting),
    cmocka_unit_test(test_living_cells),      cmocka_unit_test(test_names),
};

UNIT_MAIN(tests)
