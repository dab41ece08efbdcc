/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include <math.h>

#include "tests/unit/run/dispatch.h"

/* --- workers and memory ------------------------------------------------------- */

static void no_more_than_there_is(void **state)
{
	static const uint64_t memory[] = {100, 300, 500, 900, 100, 200, 400, 1000};

	(void)state;
	begin(MOST, 3, false);
	for (size_t i = 0; i < MOST; i++) {
		w.cfgs[i].memory = memory[i];
		w.parts[i].merges = true;
	}
	for (unsigned round = 0; round < 40; round++) {
		workers_limit(&w.d.workers, 1 + round % 3);
		seconds(300);
	}
	assert_int_equal(in_phase(PHASE_DONE), MOST);
	for (size_t i = 0; i < MOST; i++)
		assert_int_equal(w.jobs[i].reason, REASON_PLATEAU);
	assert_int_equal(w.most, 3);
	assert_int_equal(w.d.busy, 0);
	assert_int_equal(w.d.memory_used, 0);
}

/* More workers than memory allows: the targets take turns all the same. */
static void memory_for_one(void **state)
{
	(void)state;
	begin(3, 4, false);
	for (size_t i = 0; i < 3; i++) {
		w.cfgs[i].memory = 600;
		w.parts[i].finds = true;
	}
	seconds(1000);
	assert_int_equal(w.most, 1);
	for (size_t i = 0; i < 3; i++)
		assert_true(w.d.targets[i].spent_us >= 290 * S);
}

static void one_that_is_larger_than_the_machine_runs_alone(void **state)
{
	(void)state;
	begin(3, 2, false);
	w.cfgs[0].memory = 5000;
	w.parts[0].finds = true;
	seconds(10);
	assert_int_equal(w.jobs[0].phase, PHASE_FUZZING);
	assert_int_equal(w.d.busy, 1);
	assert_true(dispatch_borrow_memory(&w.d, 0));
	assert_false(dispatch_borrow_memory(&w.d, 1));
	seconds(2000);
	assert_true(w.parts[1].starts > 0 && w.parts[2].starts > 0);
}

/* The target fits only when both others have left. */
static void one_that_needs_much_room_has_its_turns(void **state)
{
	(void)state;
	begin(4, 2, false);
	for (size_t i = 0; i < 4; i++) {
		w.cfgs[i].memory = i < 3 ? 400 : 800;
		w.parts[i].finds = true;
	}
	seconds(20000);
	assert_true(w.d.targets[3].spent_us >= 1500 * S);
	for (size_t i = 0; i < 3; i++)
		assert_true(w.d.targets[i].spent_us >= 6000 * S);
}

static void what_is_lent_comes_back(void **state)
{
	(void)state;
	begin(2, 5, false);
	w.parts[0].merges = true;
	seconds(3);
	job_stop(&w.jobs[0], REASON_TIME_LIMIT, false);
	seconds(1);
	assert_int_equal(w.jobs[0].lent, 3); /* one fuzzes, one merges */
	assert_int_equal(w.d.busy, 5);
	assert_true(dispatch_borrow_memory(&w.d, 500));
	assert_false(dispatch_borrow_memory(&w.d, 1));
	dispatch_return_memory(&w.d, 500);
	seconds(MERGE_S + 2);
	assert_int_equal(w.jobs[0].phase, PHASE_DONE);
	assert_int_equal(w.d.busy, 1);
	assert_int_equal(w.d.memory_used, 100);
}

static void fewer_workers_and_more(void **state)
{
	(void)state;
	begin(4, 4, false);
	for (size_t i = 0; i < 4; i++)
		w.parts[i].finds = true;
	seconds(70);
	assert_int_equal(in_phase(PHASE_FUZZING), 4);
	workers_limit(&w.d.workers, 1);
	seconds(3);
	assert_int_equal(in_phase(PHASE_FUZZING), 1);
	assert_int_equal(w.d.busy, 1);
	workers_limit(&w.d.workers, 3);
	seconds(3);
	assert_int_equal(in_phase(PHASE_FUZZING), 3);
}

/* A stopping cell has its worker until it has ended: meanwhile no other cell leaves because of the
 * same lowered limit. */
static void each_worker_less_pauses_one_target(void **state)
{
	unsigned pauses = 0;

	(void)state;
	begin(6, 6, false);
	for (size_t i = 0; i < 6; i++)
		w.parts[i].finds = true;
	seconds(70);
	assert_int_equal(in_phase(PHASE_FUZZING), 6);
	for (unsigned left = 5; left >= 1; left--) {
		workers_limit(&w.d.workers, left);
		for (unsigned s = 0; s < 3; s++) {
			seconds(1);
			assert_true(in_phase(PHASE_FUZZING) >= left);
		}
		assert_int_equal(in_phase(PHASE_FUZZING), left);
	}
	for (size_t i = 0; i < 6; i++)
		pauses += w.parts[i].pauses;
	assert_int_equal(pauses, 5);
}

/* --- ends --------------------------------------------------------------------- */

static void a_target_that_dies_at_once_delays_no_other(void **state)
{
	(void)state;
	begin(MOST, 2, false);
	for (size_t i = 0; i < MOST; i++)
		w.parts[i].dies = i % 4 != 3;
	dispatch_next(&w.d);
	check();
	assert_int_equal(in_phase(PHASE_DONE), 6);
	assert_int_equal(in_phase(PHASE_FUZZING), 2);
	for (size_t i = 0; i < MOST; i++)
		assert_int_equal(w.parts[i].starts, 1);
}

static void a_waiting_target_is_wrapped_up(void **state)
{
	(void)state;
	begin(5, 2, false);
	for (size_t i = 0; i < 5; i++)
		w.parts[i].merges = true;
	seconds(1500); /* all targets were started */
	close_all(REASON_RUN_DEADLINE);
	assert_int_equal(dispatch_waiting(&w.d), 3);
	seconds(4 * (MERGE_S + 2));
	assert_int_equal(in_phase(PHASE_DONE), 5);
	assert_int_equal(w.parts[0].wraps + w.parts[1].wraps + w.parts[2].wraps + w.parts[3].wraps +
			     w.parts[4].wraps,
			 3);
	assert_int_equal(w.d.busy, 0);
}

/* A running target makes way, even if the running targets win every turn. */
static void a_waiting_target_has_a_worker_for_its_end(void **state)
{
	unsigned starts;

	(void)state;
	begin(3, 2, false);
	w.parts[0].finds = w.parts[1].finds = true;
	w.parts[2].merges = true;
	seconds(10);
	job_stop(&w.jobs[2], REASON_STARVED, false);
	starts = w.parts[0].starts + w.parts[1].starts;
	seconds(895);
	assert_int_equal(w.jobs[2].phase, PHASE_QUEUED);
	assert_int_equal(in_phase(PHASE_FUZZING), 2);
	seconds(10 + MERGE_S);
	assert_int_equal(w.parts[2].wraps, 1);
	assert_int_equal(w.jobs[2].reason, REASON_STARVED);
	assert_int_equal(in_phase(PHASE_FUZZING), 2);
	assert_int_equal(w.parts[0].starts + w.parts[1].starts, starts + 1);
}

/* A target that needs more memory than any running target would free pauses none of them. */
static void a_target_that_does_not_fit_disturbs_no_other(void **state)
{
	unsigned pauses;

	(void)state;
	begin(3, 2, false);
	w.parts[0].finds = w.parts[1].finds = true;
	w.cfgs[0].memory = w.cfgs[1].memory = 400;
	w.cfgs[2].memory = 900;
	w.parts[2].merges = true;
	seconds(10);
	assert_int_equal(in_phase(PHASE_FUZZING), 2);
	job_stop(&w.jobs[2], REASON_STARVED, false);
	pauses = w.parts[0].pauses + w.parts[1].pauses;
	seconds(5000);
	assert_int_equal(w.parts[0].pauses + w.parts[1].pauses, pauses);
	close_all(REASON_RUN_DEADLINE);
	seconds(3 + MERGE_S);
	assert_int_equal(w.jobs[2].phase, PHASE_DONE);
}

static void the_cap_ends_it(void **state)
{
	(void)state;
	begin(2, 1, false);
	w.parts[0].finds = w.parts[1].finds = true;
	w.d.targets[0].rule.cap_us = w.d.targets[1].rule.cap_us = 100 * S;
	seconds(220);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(w.jobs[i].reason, REASON_CPU_LIMIT);
		assert_int_equal(w.d.targets[i].spent_us, 100 * S);
	}
}

/* --- turns -------------------------------------------------------------------- */

static void a_short_run(unsigned workers, uint64_t memory, uint64_t least_us)
{
	begin(MOST, workers, false);
	w.d.deadline_us = w.now + 80 * S;
	for (size_t i = 0; i < MOST; i++) {
		w.cfgs[i].memory = memory;
		w.parts[i].finds = i % 2;
	}
	seconds(79);
	for (size_t i = 0; i < MOST; i++)
		assert_true(w.d.targets[i].spent_us >= least_us);
	close_all(REASON_RUN_DEADLINE);
	seconds(5);
	assert_int_equal(in_phase(PHASE_DONE), MOST);
	teardown(NULL);
}

static void each_target_has_a_turn_in_a_short_run(void **state)
{
	(void)state;
	a_short_run(1, 100, 8 * S);
	a_short_run(3, 100, 9 * S); /* then the target with most finds continues */
	a_short_run(4, 500, 9 * S); /* memory for two */
}

static void times_of_a_turn(void **state)
{
	static const struct {
		uint64_t turn_us, rule_after_us;
	} v[] = {{S, S / 5}, {300 * S, 60 * S}, {S * 30 * 86400, 60 * S}};

	(void)state;
	begin(1, 1, false);
	for (size_t i = 0; i < 3; i++) {
		w.d.turn_us = v[i].turn_us;
		dispatch_next(&w.d);
		assert_int_equal(w.d.fleet.rules.turn_us, v[i].turn_us);
		assert_int_equal(w.d.fleet.rules.rule_after_us, v[i].rule_after_us);
	}
}

static void any_price_has_its_times(void **state)
{
	static const struct {
		uint32_t milli;
		uint64_t least_us;
	} v[] = {{1, 6000 * S}, {50, 120 * S}, {1000000, 6000}};

	(void)state;
	begin(1, 1, false);
	for (size_t i = 0; i < 3; i++) {
		w.cfgs[0].plateau.price_milli = v[i].milli;
		dispatch_join(&w.d, 0, &w.cfgs[0], 0, NULL, NULL);
		assert_in_range(w.d.targets[0].rule.least_us, v[i].least_us - 1, v[i].least_us + 1);
		assert_true(w.d.targets[0].rule.burst_us > 0);
		assert_int_equal(lround(w.d.targets[0].rule.price * 1000), v[i].milli);
	}
}

static void a_budget_is_what_is_left(void **state)
{
	(void)state;
	begin(1, 1, false);
	w.cfgs[0].max_time_us = 100 * S;
	w.jobs[0].used_us = 70 * S;
	dispatch_next(&w.d);
	assert_int_equal(w.parts[0].budget_us, 30 * S);
	teardown(NULL);
	begin(1, 1, false);
	w.jobs[0].used_us = 2 * w.cfgs[0].max_time_us;
	dispatch_next(&w.d);
	assert_int_equal(w.parts[0].budget_us, 0);
}

/* One more cell starts after one, two and four seconds; after a long time without a shortage, all
 * cells start. */
static void cells_come_back_after_a_shortage(void **state)
{
	struct dispatch d = {.workers = {.most = 8, .now = 8}, .busy = 3};

	(void)state;
	w.now = 1000 * S;
	assert_int_equal(dispatch_workers(&d), 8);
	assert_true(dispatch_short(&d, w.now));
	d.busy = 2; /* two cells that failed together count as one attempt */
	assert_true(dispatch_short(&d, w.now));
	assert_int_equal(dispatch_workers(&d), 2);
	w.now += S;
	assert_int_equal(dispatch_workers(&d), 3);
	assert_true(dispatch_short(&d, w.now));
	w.now += S;
	assert_int_equal(dispatch_workers(&d), 2);
	w.now += S;
	assert_int_equal(dispatch_workers(&d), 3);
	w.now += 3600 * S;
	assert_int_equal(dispatch_workers(&d), 8);
	d.busy = 0;
	assert_true(dispatch_short(&d, w.now));
	w.now += S;
	assert_true(dispatch_short(&d, w.now));
	assert_int_equal(d.shortage.times, 2);
	assert_false(dispatch_short(&d, w.now + 2 * S)); /* three times without any cell */
}

/* Other targets have not had their turn yet, and a turn's length depends on the workers. */
static void no_worker_is_left(void **state)
{
	(void)state;
	begin(3, 2, false);
	w.d.deadline_us = w.now + 60 * S;
	assert_true(dispatch_short(&w.d, w.now));
	assert_int_equal(dispatch_workers(&w.d), 0);
	dispatch_next(&w.d);
	assert_int_equal(w.d.busy, 0);
	w.now += S;
	dispatch_next(&w.d);
	assert_int_equal(w.d.busy, 1);
}

static const struct CMUnitTest tests[] = {
    CASE(no_more_than_there_is),
    CASE(memory_for_one),
    CASE(one_that_is_larger_than_the_machine_runs_alone),
    CASE(one_that_needs_much_room_has_its_turns),
    CASE(what_is_lent_comes_back),
    CASE(fewer_workers_and_more),
    CASE(each_worker_less_pauses_one_target),
    CASE(a_target_that_dies_at_once_delays_no_other),
    CASE(a_waiting_target_is_wrapped_up),
    CASE(a_waiting_target_has_a_worker_for_its_end),
    CASE(a_target_that_does_not_fit_disturbs_no_other),
    CASE(the_cap_ends_it),
    CASE(each_target_has_a_turn_in_a_short_run),
    CASE(times_of_a_turn),
    CASE(any_price_has_its_times),
    CASE(a_budget_is_what_is_left),
    CASE(cells_come_back_after_a_shortage),
    CASE(no_worker_is_left),
};

UNIT_MAIN(tests)
