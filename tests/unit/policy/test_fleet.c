/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/policy/fleet.h"

static void each_has_its_turn_and_leaves(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 2, 5, nothing);
	assert_int_equal(run(&m, 5 * 5010 / 2 + 400), 2);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(m.left[i], FLEET_PLATEAU);
		assert_in_range(m.left_at[i], 4990 * S, 5100 * S); /* 0.05 (5000 - 10) / 0.05 */
	}
	assert_true(m.orders[FLEET_PAUSE] > 20);
	assert_int_equal(m.orders[FLEET_START], m.orders[FLEET_PAUSE] + 5);
	run(&m, 100);
	assert_int_equal(fleet_next(&m.f, m.now, &(struct fleet_room){2, 2, true}).what,
			 FLEET_NOTHING);
}

static void a_single_one_is_not_restarted(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 2, 2, grows);
	run(&m, 5000);
	assert_int_equal(m.orders[FLEET_START], 2);
	assert_int_equal(m.orders[FLEET_PAUSE], 0);
}

static void a_target_that_finds_more_gets_more(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 3, nothing);
	m.edges[1] = grows;
	run(&m, 6000);
	assert_true(m.v[1].spent_us > m.v[0].spent_us + m.v[2].spent_us);
	assert_true(m.v[0].spent_us >= 60 * S);
	assert_true(m.v[2].spent_us >= 60 * S);
}

static void a_late_bloomer_gets_its_chance(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 2, 4, nothing);
	m.edges[3] = gate_at_900;
	run(&m, 5000);
	assert_true(m.v[3].curve.cov > 1000);
}

/* The cell never had its core alone: it does not count as done. */
static void starved_it_is_held_and_then_leaves(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 1, nothing);
	m.share = 0.125;
	m.calm = false;
	run(&m, 8 * 5100);
	assert_int_equal(m.left[0], FLEET_STARVED);
	assert_in_range(m.left_at[0], 4990 * S, 5100 * S); /* and no CPU time was wasted */
	assert_int_equal(m.orders[FLEET_PLATEAU], 0);
}

static void held_it_goes_on_when_it_is_calm(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 1, nothing);
	m.share = 0.125;
	m.calm = false;
	while (!m.v[0].held_us)
		run(&m, 1);
	run(&m, 300);
	m.share = 1;
	m.calm = true;
	run(&m, 200);
	assert_int_equal(m.left[0], FLEET_PLATEAU);
	assert_in_range(m.left_at[0], 4990 * S, 5200 * S);
}

static void fewer_workers_pause_the_poorest(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 3, 3, grows);
	m.edges[1] = nothing;
	run(&m, 200);
	m.workers = 2;
	run(&m, 10);
	assert_int_equal(m.does[1], FLEET_WAITS);
	assert_int_equal(m.does[0], FLEET_RUNS);
	m.workers = 0;
	assert_int_equal(run(&m, 10), 0);
	m.workers = 3;
	assert_int_equal(run(&m, 10), 3);
}

/* Continuous: no target pays any more, and only the floor's share is used, until a new build. */
static void a_target_that_does_not_pay_rests(void **state)
{
	struct sim m;
	uint64_t before;

	(void)state;
	begin(&m, 2, 3, nothing);
	m.f.rules.continuous = true;
	m.f.rules.share.idle = true;
	run(&m, 9000);
	for (int i = 0; i < 3; i++)
		assert_true(m.v[i].unpaying);
	before = m.v[0].spent_us + m.v[1].spent_us + m.v[2].spent_us;
	run(&m, 200000);
	/* a twentieth of 400,000 core-seconds */
	assert_in_range(m.v[0].spent_us + m.v[1].spent_us + m.v[2].spent_us - before, 12000 * S,
			28000 * S);
	fleet_rebuilt(&m.v[1]);
	fleet_wake(&m.f, &m.v[1]);
	m.edges[1] = grows;
	before = m.v[1].spent_us;
	run(&m, 1000);
	assert_true(m.v[1].spent_us - before > 950 * S);
}

static void a_blocked_one_is_passed_over(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 2, 3, grows);
	m.v[0].blocked = true;
	run(&m, 1000);
	assert_int_equal(m.v[0].spent_us, 0);
	assert_int_equal(m.does[1], FLEET_RUNS);
	m.v[0].blocked = false;
	run(&m, 1000);
	assert_true(m.v[0].spent_us >= 60 * S);
}

/* More workers than memory allows: the targets take turns all the same. */
static void they_take_turns_in_the_same_room(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 2, 2, grows);
	m.one_room = true;
	assert_int_equal(run(&m, 4000), 1);
	assert_true(m.v[0].spent_us >= 300 * S);
	assert_true(m.v[1].spent_us >= 300 * S);
	assert_int_equal(m.v[0].spent_us + m.v[1].spent_us, 4000 * S);
}

/* Continuous, under CPU pressure: the first of two targets would rest on a calm machine. */
static void begin_held(struct sim *m)
{
	begin(m, 1, 2, nothing);
	m->f.rules.continuous = true;
	m->f.rules.share.idle = true;
	m->share = 0.5;
	m->calm = false;
	while (!m->v[0].held_us)
		run(m, 1);
}

/* A held target rests once the machine is calm, and does not take the time of others. */
static void a_held_target_rests(void **state)
{
	struct sim m;

	(void)state;
	begin_held(&m);
	m.share = 1;
	m.calm = true;
	run(&m, 8000);
	assert_true(m.v[0].unpaying);
	assert_int_equal(m.v[0].held_us, 0);
	assert_true(m.v[1].spent_us >= 4000 * S);
}

/* Continuous, and never calm: the floor gives turns to held targets. */
static void a_machine_that_is_never_calm(void **state)
{
	struct sim m;
	uint64_t before;

	(void)state;
	begin(&m, 1, 2, nothing);
	m.f.rules.continuous = true;
	m.f.rules.share.idle = true;
	m.share = 0.5;
	m.calm = false;
	run(&m, 25000);
	before = m.v[0].spent_us + m.v[1].spent_us;
	run(&m, 100000);
	assert_true(m.v[0].spent_us + m.v[1].spent_us > before + 500 * S);
}

static void one_that_never_fuzzes_takes_no_others_time(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 2, grows);
	m.load_us[0] = UINT64_MAX;
	run(&m, 20000);
	assert_true(m.v[1].spent_us >= 10000 * S);
}

/* The target's clock stands still, so that it stays young. */
static void one_that_thrashes_takes_no_others_time(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 2, grows);
	m.f.rules.continuous = true;
	m.memory[0] = 0.2;
	run(&m, 20000);
	assert_true(m.v[1].spent_us >= 10000 * S);
	fleet_rebuilt(&m.v[0]); /* the new build may behave differently */
	fleet_wake(&m.f, &m.v[0]);
	m.memory[0] = 0;
	run(&m, 1000);
	assert_true(m.v[0].spent_us >= 300 * S);
}

/* Loading the seeds takes longer than a turn: each target gets a turn of fuzzing after it. */
static void long_starts(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 4, grows);
	for (int i = 0; i < 4; i++)
		m.load_us[i] = 400 * S;
	run(&m, 35000);
	for (int i = 0; i < 4; i++)
		assert_true(m.v[i].curve.build_us >= 1500 * S);
}

static void the_cap_ends_it(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 1, grows);
	m.v[0].rule.cap_us = 1000 * S;
	run(&m, 2000);
	assert_int_equal(m.left[0], FLEET_CAP);
	assert_int_equal(m.left_at[0], 1000 * S);
}

static void a_day_has_a_cap_of_its_own(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 2, grows);
	m.f.rules.continuous = true;
	m.v[0].rule.cap_us = m.v[1].rule.cap_us = 1000 * S;
	run(&m, 3000);
	assert_int_equal(m.orders[FLEET_CAP], 0); /* it does not leave */
	assert_int_equal(m.v[0].spent_us, 1000 * S);
	assert_int_equal(m.v[1].spent_us, 1000 * S);
	fleet_new_day(&m.f);
	run(&m, 3000);
	assert_int_equal(m.v[0].spent_us, 2000 * S);
	assert_int_equal(m.v[1].spent_us, 2000 * S);
}

/* Only before the cell's launch it is known whether the build differs. */
static void a_new_build_has_a_cap_of_its_own(void **state)
{
	struct sim m;
	struct fleet_order o;

	(void)state;
	begin(&m, 1, 1, grows);
	m.f.rules.continuous = true;
	m.v[0].rule.cap_us = 1000 * S;
	run(&m, 3000);
	assert_true(m.v[0].at_cap);
	assert_int_equal(m.v[0].spent_us, 1000 * S);
	for (unsigned again = 0; again < 2; again++) { /* the same build, and another one */
		fleet_wake(&m.f, &m.v[0]);
		o = ask(&m);
		assert_int_equal(o.what, FLEET_START);
		m.does[0] = FLEET_RUNS;
		m.now += 100 * S; /* its open crashes are replayed */
		assert_int_equal(ask(&m).what, FLEET_NOTHING);
		if (again)
			fleet_rebuilt(&m.v[0]);
		m.cell[0] = (struct effective_reading){.at_us = m.now};
		fleet_launched(&m.v[0], m.now);
		run(&m, 3000);
		assert_true(m.v[0].at_cap);
		assert_int_equal(m.v[0].spent_us, (again ? 2000 : 1000) * S);
	}
	fleet_new_day(&m.f);
	run(&m, 3000);
	assert_int_equal(m.v[0].spent_us, 3000 * S);
}

/* A new build is not held until the CPU pressure ends: it has not run yet. */
static void a_new_build_of_one_that_is_held_comes_first(void **state)
{
	struct sim m;

	(void)state;
	begin_held(&m);
	m.does[1] = FLEET_OUT;
	fleet_wake(&m.f, &m.v[0]);
	run(&m, 3);
	assert_int_equal(m.does[0], FLEET_RUNS);
	assert_false(m.v[0].unpaying);
}

/* The priority orders the targets; the target's rule decides whether fuzzing pays. */
static void a_low_priority_idles_no_core(void **state)
{
	static const int32_t any[] = {-1000, -20, 0, 1000};
	uint64_t spent_us[4];
	struct sim m;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		begin(&m, 1, 1, grows);
		m.f.rules.continuous = true;
		m.f.rules.share.idle = true;
		m.v[0].priority = any[i];
		run(&m, 300);
		m.workers = 0; /* and back in the queue */
		run(&m, 1);
		m.workers = 1;
		run(&m, 3000);
		spent_us[i] = m.v[0].spent_us;
		assert_int_equal(spent_us[i], spent_us[0]);
		assert_true(spent_us[i] >= 3300 * S);
	}
}

/* A target that stopped in an earlier run, with the same build, gets a turn and stops again. */
static void an_unchanged_one_is_looked_at(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 2, nothing);
	curve_begin(&m.v[0].curve, 10);
	curve_spend(&m.v[0].curve, 6000 * S, 300 * S);
	m.v[0].known = true;
	run(&m, 20);
	assert_int_equal(m.does[1], FLEET_RUNS); /* the new target is first */
	run(&m, 6000);
	assert_int_equal(m.left[0], FLEET_PLATEAU);
	assert_in_range(m.left_at[0], 60 * S, 62 * S);
}

/* In a continuous run no target that pays waits while a core is idle, also after a moment with one
 * worker less. */
static void a_paying_target_waits_for_no_idle_core(void **state)
{
	struct sim m;
	uint64_t before;

	(void)state;
	begin(&m, 3, 3, nothing);
	m.f.rules.continuous = true;
	m.f.rules.share.idle = true;
	m.edges[0] = grows;
	run(&m, 9000);
	m.f.rules.share.floor = 0;
	while (m.f.idle_until_us < m.now + 100 * S)
		run(&m, 1);
	assert_true(m.v[1].unpaying && m.v[2].unpaying);
	m.workers = 0;
	run(&m, 2);
	m.workers = 3;
	before = m.v[0].spent_us;
	run(&m, 50);
	assert_true(m.v[0].spent_us - before >= 48 * S);
}

/* Its open crashes are replayed first: its turn begins with its cell. */
static void a_long_way_to_the_first_cell(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 2, grows);
	assert_int_equal(ask(&m).what, FLEET_START);
	m.does[0] = FLEET_RUNS;
	m.now += 2000 * S;
	assert_int_equal(ask(&m).what, FLEET_NOTHING);
	m.cell[0] = (struct effective_reading){.at_us = m.now};
	fleet_launched(&m.v[0], m.now);
	run(&m, 290);
	assert_in_range(m.v[0].spent_us, 280 * S, 300 * S);
	run(&m, 300);
	assert_true(m.v[1].spent_us >= 200 * S);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_has_its_turn_and_leaves),
    cmocka_unit_test(a_single_one_is_not_restarted),
    cmocka_unit_test(a_target_that_finds_more_gets_more),
    cmocka_unit_test(a_late_bloomer_gets_its_chance),
    cmocka_unit_test(starved_it_is_held_and_then_leaves),
    cmocka_unit_test(held_it_goes_on_when_it_is_calm),
    cmocka_unit_test(fewer_workers_pause_the_poorest),
    cmocka_unit_test(a_target_that_does_not_pay_rests),
    cmocka_unit_test(a_blocked_one_is_passed_over),
    cmocka_unit_test(they_take_turns_in_the_same_room),
    cmocka_unit_test(a_held_target_rests),
    cmocka_unit_test(a_machine_that_is_never_calm),
    cmocka_unit_test(one_that_never_fuzzes_takes_no_others_time),
    cmocka_unit_test(one_that_thrashes_takes_no_others_time),
    cmocka_unit_test(long_starts),
    cmocka_unit_test(the_cap_ends_it),
    cmocka_unit_test(a_day_has_a_cap_of_its_own),
    cmocka_unit_test(a_new_build_has_a_cap_of_its_own),
    cmocka_unit_test(a_new_build_of_one_that_is_held_comes_first),
    cmocka_unit_test(a_low_priority_idles_no_core),
    cmocka_unit_test(an_unchanged_one_is_looked_at),
    cmocka_unit_test(a_paying_target_waits_for_no_idle_core),
    cmocka_unit_test(a_long_way_to_the_first_cell),
};

UNIT_MAIN(tests)
