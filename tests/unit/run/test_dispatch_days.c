/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/run/dispatch.h"

/* --- pauses ------------------------------------------------------------------- */

static void a_pause_that_was_lost_is_asked_for_again(void **state)
{
	(void)state;
	begin(2, 1, false);
	w.parts[0].finds = w.parts[1].finds = true;
	seconds(10);
	w.parts[0].deaf = w.parts[1].deaf = true;
	seconds(300);
	assert_true(w.parts[0].starts == 1 && w.parts[1].starts == 1);
	w.d.paused = true; /* by the user */
	for (size_t i = 0; i < 2; i++) {
		w.parts[i].deaf = true;
		if (w.jobs[i].phase != PHASE_QUEUED)
			job_pause(&w.jobs[i], true);
	}
	seconds(3);
	assert_int_equal(w.d.busy, 0);
	w.d.paused = false;
	seconds(1);
	assert_int_equal(w.d.busy, 1);
}

/* A target is held until the machine is calm: time when this process was suspended is no wait. */
static void sleep_is_no_time(void **state)
{
	struct fleet_target *t;

	(void)state;
	begin(1, 1, false);
	t = &w.d.targets[0];
	w.share = 0.2;
	w.d.workers.cpu = 0.9;
	for (unsigned s = 0; s < 10000 && !t->held_us; s++)
		seconds(1);
	assert_true(t->held_us > 0);
	seconds(300);
	w.now += 3600 * S;
	seconds(200);
	assert_int_equal(w.jobs[0].phase, PHASE_HELD);
	seconds(150);
	assert_int_equal(w.jobs[0].reason, REASON_STARVED);
}

/* --- continuous ------------------------------------------------------------------ */

static void a_resting_target_is_maintained(void **state)
{
	(void)state;
	begin(2, 2, true);
	seconds(3000);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(w.jobs[i].phase, PHASE_RESTING);
		assert_true(w.parts[i].maintained >= 1);
		assert_int_equal(w.jobs[i].reason, REASON_NONE);
	}
}

/* A long uptime of the machine is no reason. */
static void others_are_maintained_once_a_day(void **state)
{
	unsigned maintained;

	(void)state;
	begin(2, 1, true);
	w.d.began_us = w.now = S * 30 * 86400;
	w.d.day_us = w.d.looked_us = w.now;
	w.d.targets[0].rule.cap_us = w.d.targets[1].rule.cap_us = 1000 * S;
	w.parts[0].finds = w.parts[1].finds = true;
	seconds(3000); /* both used up their caps, and the worker is idle */
	assert_int_equal(w.parts[0].maintained + w.parts[1].maintained, 0);
	seconds(86400);
	maintained = w.parts[0].maintained + w.parts[1].maintained;
	assert_in_range(maintained, 1, 4);
}

/* Merging takes place although there is always a target that pays for the worker. */
static void a_busy_target_is_maintained_too(void **state)
{
	(void)state;
	begin(2, 1, true);
	w.d.targets[0].rule.cap_us = w.d.targets[1].rule.cap_us = 0;
	w.parts[0].finds = w.parts[1].finds = true;
	seconds(86000);
	assert_int_equal(w.parts[0].maintained + w.parts[1].maintained, 0);
	seconds(2000);
	assert_int_equal(w.parts[0].maintained, 1);
	assert_int_equal(w.parts[1].maintained, 1);
	seconds(80000);
	assert_int_equal(w.parts[0].maintained + w.parts[1].maintained, 2);
}

/* No other target wants its worker. */
static void a_cell_lives_for_a_day(void **state)
{
	(void)state;
	begin(1, 1, true);
	w.d.targets[0].rule.cap_us = 0;
	w.parts[0].finds = true;
	seconds(86000);
	assert_int_equal(w.parts[0].starts, 1);
	seconds(1000);
	assert_int_equal(w.parts[0].starts, 2);
	assert_int_equal(w.parts[0].maintained, 1);
	assert_int_equal(w.jobs[0].phase, PHASE_FUZZING);
}

static void a_new_build_wakes(void **state)
{
	(void)state;
	begin(3, 3, true);
	w.parts[1].dies = true;
	w.parts[2].finds = true;
	seconds(3000);
	assert_int_equal(w.jobs[0].phase, PHASE_RESTING);
	assert_int_equal(w.jobs[1].phase, PHASE_DONE);
	assert_int_equal(w.jobs[2].phase, PHASE_FUZZING);
	for (size_t i = 0; i < 3; i++)
		w.parts[i].other = true;
	w.parts[1].dies = false;
	seconds(13);
	assert_int_equal(w.parts[1].revived, 1);
	assert_int_equal(w.jobs[1].phase, PHASE_FUZZING);
	assert_int_equal(w.parts[2].starts, 2); /* although no other target wanted its worker */
	assert_int_equal(in_phase(PHASE_FUZZING), 3);
}

/* A target that only has to merge before its end merges first. */
static void it_does_not_wake_a_target_that_ends(void **state)
{
	(void)state;
	begin(2, 1, true);
	w.parts[0].finds = w.parts[1].finds = w.parts[1].merges = true;
	seconds(10);
	assert_int_equal(w.jobs[0].phase, PHASE_FUZZING);
	job_stop(&w.jobs[1], REASON_CRASH_LOOP, false);
	w.parts[1].other = true;
	seconds(890);
	assert_true(job_wraps_up(&w.jobs[1]));
	assert_int_equal(w.parts[1].starts, 0);
	seconds(15 + MERGE_S);
	assert_int_equal(w.parts[1].wraps, 1);
	seconds(15);
	assert_int_equal(w.parts[1].revived, 1);
}

static void a_day_passes(void **state)
{
	(void)state;
	begin(1, 1, true);
	w.parts[0].finds = true;
	w.d.targets[0].rule.cap_us = 100 * S;
	w.jobs[0].triage_us = 600 * S;
	w.jobs[0].failures_total = 90;
	seconds(1000);
	assert_int_equal(w.d.targets[0].spent_us, 100 * S);
	assert_int_equal(w.jobs[0].triage_us, 600 * S);
	seconds(86400);
	assert_int_equal(w.d.targets[0].spent_us, 200 * S);
	assert_int_equal(w.jobs[0].triage_us, 0);
	assert_int_equal(w.jobs[0].forgiven, 90);
}

/* Each build has its own cap; an identical rebuild is the same build. */
static void a_new_build_has_a_cap_of_its_own(void **state)
{
	(void)state;
	begin(1, 1, true);
	w.parts[0].finds = true;
	w.d.targets[0].rule.cap_us = 100 * S;
	seconds(1000);
	for (unsigned starts = 2; starts <= 3; starts++) {
		w.parts[0].same = starts == 2;
		w.parts[0].other = true;
		seconds(500);
		assert_int_equal(w.parts[0].starts, starts);
		assert_int_equal(w.d.targets[0].spent_us, (starts - 1) * 100 * S);
		assert_int_equal(w.jobs[0].phase, PHASE_CAPPED);
	}
}

/* A target that pays gets the memory that a resting target frees, and no core is idle meanwhile. */
static void room_that_comes_is_taken(void **state)
{
	unsigned idle_s = 0;

	(void)state;
	begin(3, 2, true);
	w.cfgs[0].memory = w.cfgs[1].memory = 600;
	w.parts[0].finds = true;
	w.d.targets[1].rule.price = w.d.targets[2].rule.price = 5;
	w.d.targets[1].rule.least_us = 60 * S;
	for (unsigned s = 0; s < 3000; s++) {
		seconds(1);
		idle_s = waiting() < 3 ? 0 : idle_s + 1;
		assert_true(idle_s < 3);
	}
	assert_int_equal(w.jobs[1].phase, PHASE_RESTING);
	assert_int_equal(w.jobs[2].phase, PHASE_RESTING);
	assert_true(w.d.targets[0].spent_us > 2500 * S);
}

/* After a crash loop, a full disk or a failed start the target is tried again the next day. */
static void a_target_at_a_limit_has_another_day(void **state)
{
	(void)state;
	begin(3, 3, true);
	w.parts[0].finds = w.parts[1].finds = w.parts[2].finds = true;
	w.parts[2].dies = true;
	seconds(10);
	job_stop(&w.jobs[0], REASON_DISK_LIMIT, false);
	job_stop(&w.jobs[1], REASON_NOT_INSTRUMENTED, false);
	assert_int_equal(w.jobs[2].reason, REASON_STARTUP_FAILED);
	w.parts[2].dies = false;
	seconds(86000);
	assert_int_equal(in_phase(PHASE_DONE), 3);
	seconds(500);
	assert_int_equal(w.jobs[0].phase, PHASE_FUZZING);
	assert_int_equal(w.jobs[1].phase, PHASE_DONE);
	assert_int_equal(w.jobs[2].phase, PHASE_FUZZING);
}

/* All jobs wait, and continue in their old state. */
static void a_full_disk_is_waited_for(void **state)
{
	(void)state;
	begin(5, 3, true);
	for (size_t i = 0; i < 5; i++)
		w.parts[i].finds = true;
	w.parts[2].unsaved = true;
	seconds(10);
	job_stop(&w.jobs[1], REASON_DISK_LIMIT, false); /* the target's own limit */
	assert_false(dispatch_disk(&w.d, false));
	assert_true(dispatch_disk(&w.d, true));
	assert_false(dispatch_disk(&w.d, true));
	seconds(500);
	assert_int_equal(w.d.busy, 0);
	assert_int_equal(in_phase(PHASE_QUEUED), 3);
	assert_int_equal(in_phase(PHASE_DONE), 2);
	w.parts[2].unsaved = false;
	assert_true(dispatch_disk(&w.d, false));
	assert_int_equal(w.parts[2].revived, 1);
	assert_int_equal(w.parts[1].revived, 0);
	seconds(3);
	assert_int_equal(in_phase(PHASE_FUZZING), 3);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(w.jobs[i].reason, i == 1 ? REASON_DISK_LIMIT : REASON_NONE);
}

/* Also when the pause came while the job's files were written to disk. */
static void a_full_disk_is_reported_again(void **state)
{
	(void)state;
	begin(1, 1, true);
	w.parts[0].finds = true;
	seconds(10);
	w.parts[0].deaf = true;
	assert_true(dispatch_disk(&w.d, true));
	seconds(3);
	assert_int_equal(w.d.busy, 0);
	w.d.closed = true; /* no target comes back then */
	w.jobs[0].phase = PHASE_DONE;
	w.jobs[0].reason = REASON_DISK_LIMIT;
	w.jobs[0].uncollected = true;
	assert_true(dispatch_disk(&w.d, false));
	assert_int_equal(w.parts[0].revived, 0);
}

static const struct CMUnitTest tests[] = {
    CASE(a_pause_that_was_lost_is_asked_for_again),
    CASE(sleep_is_no_time),
    CASE(a_resting_target_is_maintained),
    CASE(others_are_maintained_once_a_day),
    CASE(a_busy_target_is_maintained_too),
    CASE(a_cell_lives_for_a_day),
    CASE(a_new_build_wakes),
    CASE(it_does_not_wake_a_target_that_ends),
    CASE(a_day_passes),
    CASE(a_new_build_has_a_cap_of_its_own),
    CASE(room_that_comes_is_taken),
    CASE(a_target_at_a_limit_has_another_day),
    CASE(a_full_disk_is_waited_for),
    CASE(a_full_disk_is_reported_again),
};

UNIT_MAIN(tests)
