/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/schedule/job.h"

/* --- builds ------------------------------------------------------------------- */

static void open_crashes_are_tried_on_each_build(void **state)
{
	(void)state;
	first_turn();
	assert_int_equal(w.triage.stages, TRIAGE_QUEUE | TRIAGE_CHECK);
	assert_false(w.triage.rebuilt);
	pause_it();
	job_start(&w.job, 86400 * S); /* the same one */
	assert_int_equal(w.job.phase, PHASE_RUNNING);
	assert_int_equal(w.triages, 1);
	pause_it();
	build("another");
	job_start(&w.job, 86400 * S);
	assert_int_equal(w.triages, 2);
	assert_int_equal(w.triage.stages, TRIAGE_QUEUE | TRIAGE_CHECK);
	assert_true(w.triage.rebuilt);
	triaged((struct triage_sum){.fixed = 1}, 1);
	assert_int_equal(w.job.phase, PHASE_RUNNING);
	assert_int_equal(w.job.restarts, 0);
	assert_int_equal(w.job.crashes.fixed, 1);
	assert_int_equal(w.cells, 3);
}

/* Stopped while it does so: what comes after fuzzing is the old build's. */
static void an_end_while_they_are_tried(void **state)
{
	(void)state;
	first_turn();
	pause_it();
	build("another");
	job_start(&w.job, 86400 * S);
	job_stop(&w.job, REASON_RUN_DEADLINE, false);
	triaged((struct triage_sum){0}, 1);
	merged();
	assert_int_equal(w.job.phase, PHASE_DONE);
	assert_int_equal(w.job.reason, REASON_RUN_DEADLINE);
	assert_int_equal(w.cells, 1);
}

static const struct CMUnitTest tests[] = {
    CASE(open_crashes_are_tried_on_each_build),
    CASE(an_end_while_they_are_tried),
};

UNIT_MAIN(tests)
