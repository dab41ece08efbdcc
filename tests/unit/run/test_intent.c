/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/run/job/internal.h"

static void a_later_intent_takes_none_back(void **state)
{
	struct job j = {0};

	(void)state;
	intent_pause(&j, false);
	assert_int_equal(j.intent, INTENT_PAUSE);
	assert_int_equal(j.ask, ASK_PAUSE);
	intent_end(&j, REASON_RUN_DEADLINE);
	assert_int_equal(j.intent, INTENT_STOP);
	assert_int_equal(j.ask, ASK_FINISH);
	intent_end(&j, REASON_STOPPED); /* the steps after fuzzing are left to another run */
	assert_int_equal(j.intent, INTENT_KILL);
	intent_pause(&j, true);
	intent_end(&j, REASON_TIME_LIMIT);
	assert_int_equal(j.intent, INTENT_KILL);
	assert_int_equal(j.pending, REASON_RUN_DEADLINE); /* the first reason stays */
}

static void a_job_that_waits_again_is_asked_nothing(void **state)
{
	struct job j = {0};

	(void)state;
	intent_end(&j, REASON_RUN_DEADLINE);
	intent_pause_work(&j);
	assert_true(j.hurries);
	assert_int_equal(j.ask, ASK_PAUSE);
	intent_none(&j);
	assert_int_equal(j.intent, INTENT_NONE);
	assert_false(j.hurries);
	assert_int_equal(j.pending, REASON_RUN_DEADLINE); /* it waits for the steps after fuzzing */
	intent_forget(&j);
	assert_int_equal(j.pending, REASON_NONE);
}

/* An end by itself is no intent, and neither is an input that is saved. */
static void only_requests_are_intents(void **state)
{
	struct job j = {0};

	(void)state;
	intent_save_input(&j, ASK_MEMORY);
	intent_set_reason(&j, REASON_CRASH_LOOP);
	assert_int_equal(j.intent, INTENT_NONE);
	intent_pause(&j, false);
	assert_int_equal(j.ask, ASK_MEMORY); /* the cell still ends because of its input */
	intent_unsaved(&j, REASON_LOST);
	assert_int_equal(j.pending, REASON_CRASH_LOOP);
	intent_next_cell(&j);
	intent_pause(&j, false);
	intent_unsaved(&j, REASON_LOST);
	assert_int_equal(j.pending, REASON_LOST);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_later_intent_takes_none_back),
    cmocka_unit_test(a_job_that_waits_again_is_asked_nothing),
    cmocka_unit_test(only_requests_are_intents),
};

UNIT_MAIN(tests)
