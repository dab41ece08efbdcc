/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include <errno.h>

#include "tests/unit/run/dispatch.h"

/* Orders of the user for a target: stop, start, skip. */

static void stopped_it_is_out_until_a_person_starts_it(void **state)
{
	(void)state;
	begin(2, 2, false);
	w.parts[0].finds = w.parts[1].finds = true;
	seconds(50);
	dispatch_stop(&w.d, &w.jobs[0], false);
	assert_int_equal(w.jobs[0].phase, PHASE_STOPPING);
	seconds(100);
	assert_int_equal(w.jobs[0].phase, PHASE_DONE);
	assert_int_equal(w.jobs[0].reason, REASON_STOPPED);
	assert_int_equal(w.parts[0].starts, 1);
	assert_int_equal(w.jobs[1].phase, PHASE_FUZZING);
	dispatch_start(&w.d, &w.jobs[0]);
	assert_int_equal(w.jobs[0].phase, PHASE_FUZZING);
	assert_int_equal(w.parts[0].starts, 2);
	assert_false(w.jobs[0].off);
	seconds(50);
	assert_true(w.d.targets[0].spent_us >= 90 * S);
}

static void only_a_user_revives_it(void **state)
{
	(void)state;
	begin(2, 1, true);
	w.parts[0].finds = w.parts[1].finds = true;
	seconds(10);
	dispatch_stop(&w.d, &w.jobs[0], true);
	dispatch_stop(&w.d, &w.jobs[1], true);
	seconds(5);
	assert_int_equal(in_phase(PHASE_DONE), 2);
	w.parts[0].other = true; /* a new build, */
	w.jobs[1].reason = REASON_CRASH_LOOP;
	seconds(2 * 86400); /* two days, */
	(void)dispatch_disk(&w.d, true);
	w.jobs[0].uncollected = true;
	w.jobs[0].reason = REASON_DISK_LIMIT;
	(void)dispatch_disk(&w.d, false); /* and space on the disk again */
	seconds(10);
	assert_int_equal(in_phase(PHASE_DONE), 2);
	dispatch_start(&w.d, &w.jobs[0]);
	seconds(2 * MERGE_S); /* its findings of two days ago are merged first */
	assert_int_equal(w.jobs[0].phase, PHASE_FUZZING);
	assert_int_equal(w.jobs[1].phase, PHASE_DONE);
}

static void started_at_its_end_it_comes_back_after_it(void **state)
{
	(void)state;
	begin(1, 1, false);
	w.parts[0].finds = w.parts[0].merges = true;
	seconds(10);
	dispatch_stop(&w.d, &w.jobs[0], false);
	seconds(2);
	assert_int_equal(w.jobs[0].phase, PHASE_MERGING);
	dispatch_start(&w.d, &w.jobs[0]);
	assert_true(w.jobs[0].wanted);
	seconds(MERGE_S + 2);
	assert_int_equal(w.jobs[0].phase, PHASE_FUZZING);
	dispatch_start(&w.d, &w.jobs[0]); /* it runs already */
	assert_int_equal(w.parts[0].starts, 2);
	/* and if the stop comes last, it counts */
	dispatch_stop(&w.d, &w.jobs[0], false);
	dispatch_start(&w.d, &w.jobs[0]);
	dispatch_stop(&w.d, &w.jobs[0], false);
	seconds(MERGE_S + 5);
	assert_int_equal(w.jobs[0].phase, PHASE_DONE);
}

static void a_run_that_ends_revives_no_target(void **state)
{
	(void)state;
	begin(1, 1, false);
	w.parts[0].finds = w.parts[0].merges = true;
	seconds(10);
	close_all(REASON_RUN_DEADLINE);
	dispatch_start(&w.d, &w.jobs[0]);
	seconds(MERGE_S + 5);
	assert_int_equal(w.jobs[0].phase, PHASE_DONE);
}

static void a_plateau_is_tried_again_with_limits_of_its_own(void **state)
{
	(void)state;
	begin(1, 1, false);
	w.cfgs[0].max_time_us = 20000 * S;
	seconds(15000);
	assert_int_equal(w.jobs[0].reason, REASON_PLATEAU);
	w.parts[0].finds = true;
	dispatch_start(&w.d, &w.jobs[0]);
	assert_int_equal(w.parts[0].budget_us, 20000 * S);
	seconds(1000);
	assert_int_equal(w.jobs[0].phase, PHASE_FUZZING);
}

static void a_cap_counts_from_a_persons_start(void **state)
{
	(void)state;
	begin(1, 1, false);
	w.parts[0].finds = true;
	w.d.targets[0].rule.cap_us = 100 * S;
	seconds(200);
	assert_int_equal(w.jobs[0].reason, REASON_CPU_LIMIT);
	assert_in_range(w.d.targets[0].spent_us, 100 * S, 102 * S);
	dispatch_start(&w.d, &w.jobs[0]);
	seconds(300);
	assert_int_equal(w.jobs[0].reason, REASON_CPU_LIMIT);
	assert_in_range(w.d.targets[0].spent_us, 200 * S, 204 * S);
}

static void skipped_the_others_come_first(void **state)
{
	struct err e;

	(void)state;
	begin(3, 1, false);
	for (size_t i = 0; i < 3; i++)
		w.parts[i].finds = true;
	for (unsigned round = 0; round < 50; round++) {
		size_t i = 0;

		seconds(20);
		while (i < 3 && w.jobs[i].phase != PHASE_FUZZING)
			i++;
		assert_true(i < 3);
		assert_int_equal(dispatch_skip(&w.d, &w.jobs[i], &e), 0);
		seconds(2);
		assert_int_equal(w.jobs[i].phase, PHASE_QUEUED);
		assert_int_equal(in_phase(PHASE_FUZZING), 1);
	}
}

static void what_has_its_turn_is_not_started_and_what_waits_is_not_ended(void **state)
{
	(void)state;
	begin(2, 1, false);
	w.parts[0].finds = w.parts[1].finds = true;
	assert_false(dispatch_has_turn(&w.jobs[1]));
	seconds(10);
	assert_true(dispatch_has_turn(&w.jobs[0]));
	assert_false(dispatch_has_turn(&w.jobs[1]));
	dispatch_stop(&w.d, &w.jobs[0], false);
	assert_false(dispatch_has_turn(&w.jobs[0]));
	seconds(5);
	assert_false(dispatch_has_turn(&w.jobs[0]));
	assert_true(dispatch_has_turn(&w.jobs[1]));
}

static void alone_it_goes_on(void **state)
{
	struct err e;

	(void)state;
	begin(2, 1, false);
	w.parts[0].finds = true;
	w.parts[1].finds = true;
	seconds(10);
	dispatch_stop(&w.d, &w.jobs[1], false);
	seconds(2);
	assert_int_equal(dispatch_skip(&w.d, &w.jobs[0], &e), 0);
	seconds(3);
	assert_int_equal(w.jobs[0].phase, PHASE_FUZZING);
	assert_int_equal(w.parts[0].starts, 2);
	assert_int_equal(dispatch_skip(&w.d, &w.jobs[1], &e), -EALREADY);
	assert_string_equal(e.msg, "it has ended (stopped)");
	w.parts[0].merges = true;
	dispatch_stop(&w.d, &w.jobs[0], false);
	assert_int_equal(dispatch_skip(&w.d, &w.jobs[0], &e), -EALREADY);
}

static void started_while_it_waits_it_is_next(void **state)
{
	(void)state;
	begin(6, 1, false);
	for (size_t i = 0; i < 6; i++)
		w.parts[i].finds = true;
	seconds(3000);
	for (size_t i = 0; i < 6; i++) {
		unsigned starts = w.parts[i].starts;

		if (w.jobs[i].phase != PHASE_QUEUED)
			continue;
		dispatch_start(&w.d, &w.jobs[i]);
		assert_int_equal(w.parts[i].starts, starts); /* no turn is cut short */
		seconds(1000);
		assert_true(w.parts[i].starts > starts);
	}
}

/* Also before targets without any turn, and if it was about to leave. */
static void started_it_is_next_whoever_waits(void **state)
{
	struct err e;

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		begin(6, 1, false);
		w.d.fleet.rules.share.kind = k ? SHARE_EQUAL : SHARE_INDEX;
		for (size_t i = 0; i < 6; i++)
			w.parts[i].finds = true;
		seconds(10);
		assert_int_equal(w.jobs[0].phase, PHASE_FUZZING);
		dispatch_start(&w.d, &w.jobs[5]);
		seconds(250);
		assert_int_equal(w.parts[0].pauses, 0); /* its turn is not cut short */
		seconds(60);
		assert_int_equal(w.jobs[5].phase, PHASE_FUZZING);
		assert_int_equal(dispatch_skip(&w.d, &w.jobs[5], &e), 0);
		dispatch_start(&w.d, &w.jobs[5]);
		seconds(5);
		assert_int_equal(w.jobs[5].phase, PHASE_FUZZING);
		assert_int_equal(w.parts[5].starts, 2);
		assert_int_equal(dispatch_skip(&w.d, &w.jobs[5], &e), 0);
		seconds(5);
		assert_int_equal(w.jobs[5].phase, PHASE_QUEUED);
		(void)teardown(state);
	}
	begin(1, 1, false);
}

static const struct CMUnitTest tests[] = {
    CASE(stopped_it_is_out_until_a_person_starts_it),
    CASE(only_a_user_revives_it),
    CASE(started_at_its_end_it_comes_back_after_it),
    CASE(a_run_that_ends_revives_no_target),
    CASE(a_plateau_is_tried_again_with_limits_of_its_own),
    CASE(a_cap_counts_from_a_persons_start),
    CASE(skipped_the_others_come_first),
    CASE(what_has_its_turn_is_not_started_and_what_waits_is_not_ended),
    CASE(alone_it_goes_on),
    CASE(started_while_it_waits_it_is_next),
    CASE(started_it_is_next_whoever_waits),
};

UNIT_MAIN(tests)
