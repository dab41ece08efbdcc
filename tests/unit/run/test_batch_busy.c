/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that took too long while their cells waited for a CPU, and inputs with a refused fork:
 * which of them have a result, and which have none. */
#include "tests/unit/unit.h"

#include "tests/unit/run/batch.h"

/* passed and failed, and one more input without a result. */
static void one_left_out(uint64_t passed, uint64_t failed)
{
	assert_int_equal(play.sum.passed, passed);
	assert_int_equal(play.sum.failed, failed);
	assert_int_equal(play.sum.left_out, 1);
	assert_string_equal(play.sum.why, "too busy");
}

static void busy_inputs(const char *names)
{
	inputs(names);
	play.busy = true;
	go(1);
}

/* Neither passed nor failed, at any position in its cell. */
static void too_busy_is_no_verdict(void **state)
{
	(void)state;
	busy_inputs("p1 zb p2");
	one_left_out(2, 0);
	busy_inputs("zb p1 p2");
	one_left_out(2, 0);
	busy_inputs("p1 p2 zb");
	one_left_out(2, 0);
	busy_inputs("p1 qb p2");
	one_left_out(2, 0);
	busy_inputs("zb");
	one_left_out(0, 0);
	busy_inputs("p1 zb c1 p2"); /* other inputs fail all the same */
	one_left_out(2, 1);
	assert_int_equal(play.failed[2], 'a');
}

/* The cell with many inputs had its CPU, the cell with one input had not. */
static void busy_only_when_alone(void **state)
{
	(void)state;
	inputs("p1 zb p2");
	go(1);
	one_left_out(2, 0);
}

/* Then its time among the other inputs proves nothing. */
static void given_its_time_alone_it_passes(void **state)
{
	(void)state;
	busy_inputs("p1 zp p2 qp p3");
	expect(".....");
	assert_int_equal(play.alone, 2);
	busy_inputs("zp p1");
	expect("..");
	assert_int_equal(play.alone, 1);
}

static void given_its_time_alone_it_fails(void **state)
{
	(void)state;
	busy_inputs("p1 zf p2");
	expect(".a.");
	assert_string_equal(play.type[1], "Alone");
	busy_inputs("zf p2");
	expect("a.");
	assert_string_equal(play.type[0], "Alone");
}

/* On a machine with free CPUs. */
static void too_long_is_a_failure(void **state)
{
	(void)state;
	inputs("p1 zp p2");
	go(1);
	expect(".t.");
	inputs("zp p2");
	go(1);
	expect("a.");
	assert_int_equal(play.alone, 0);
}

/* The failure has another cause than its time. */
static void a_crash_is_one_on_a_busy_machine_too(void **state)
{
	(void)state;
	busy_inputs("p1 t1 p2 t2 p3");
	expect("...t.");
	busy_inputs("p1 c1 zb l1");
	one_left_out(1, 2);
}

/* Odd, slow and starved: each input's result alone counts, without doubt. */
static void nor_do_all_together_fail(void **state)
{
	(void)state;
	busy_inputs("p1 f1 zp p2");
	expect("....");
	busy_inputs("p1 f1 zb p2");
	one_left_out(3, 0);
}

/* A stop does not wait for one more cell. */
static void held_still_when_it_was_stopped(void **state)
{
	(void)state;
	inputs("p1 q1 p2");
	play.stuck = true;
	go(1);
	assert_int_equal(play.alone, 1);
	inputs("p1 q1 p2");
	play.stuck = true;
	play.stop_after = 1;
	go(1);
	assert_int_equal(play.alone, 0);
	assert_int_equal(play.sum.passed, 1);
	assert_int_equal(play.failed[1], 'a');
	inputs("p1 q1 p2");
	play.busy = play.stuck = true;
	play.stop_after = 1;
	go(1);
	assert_int_equal(play.alone, 0);
	assert_int_equal(play.sum.failed, 0);
}

/* If the replay alone cannot start, this is no failure, either. */
static void no_cell_to_be_alone_in(void **state)
{
	unsigned failed = 0;

	(void)state;
	for (unsigned nth = 2; nth < 6; nth++) {
		inputs("p1 zp p2");
		play.busy = true;
		play.fault = nth;
		go(1);
		assert_int_equal(play.sum.failed, 0);
		assert_true(play.sum.left_out == 0 || *play.sum.why);
		failed += play.sum.left_out > 0;
	}
	assert_true(failed > 0);
}

static void a_refused_fork_is_found(void **state)
{
	(void)state;
	inputs("p1 b1 p2");
	go(1);
	expect(".a.");
	inputs("b1 p1 b2");
	go(1);
	expect("a.a");
	inputs("p1 p2 p3 p4 p5 b1 p6 p7");
	go(1);
	expect(".....a..");
	assert_int_equal(play.alone, 0); /* no input ran before it in its cell */
	assert_true(play.cells <= 4);
}

/* No input fails alone, but some fail together: the running input is reported, not a later one. */
static void what_is_left_behind_adds_up(void **state)
{
	(void)state;
	inputs("k1 p1 k2 p2 k3 p3 p4");
	go(1);
	expect("....t..");
	assert_int_equal(play.sum.passed, 6);
	inputs("k1 k2 k3 k4 k5 k6 k7");
	go(1);
	assert_int_equal(play.sum.passed + play.sum.failed, 7);
	assert_int_equal(play.failed[2], 't');
	inputs("k1 k2 k3 b1 p1");
	go(1);
	expect("..ta.");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(too_busy_is_no_verdict),
    cmocka_unit_test(busy_only_when_alone),
    cmocka_unit_test(given_its_time_alone_it_passes),
    cmocka_unit_test(given_its_time_alone_it_fails),
    cmocka_unit_test(too_long_is_a_failure),
    cmocka_unit_test(a_crash_is_one_on_a_busy_machine_too),
    cmocka_unit_test(nor_do_all_together_fail),
    cmocka_unit_test(held_still_when_it_was_stopped),
    cmocka_unit_test(no_cell_to_be_alone_in),
    cmocka_unit_test(a_refused_fork_is_found),
    cmocka_unit_test(what_is_left_behind_adds_up),
};

UNIT_MAIN(tests)
