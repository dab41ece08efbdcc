/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs that passed, the inputs that failed, and the number of cells. */
#include "tests/unit/unit.h"

#include "tests/unit/run/batch.h"

static void test_well(void **state)
{
	(void)state;
	inputs("");
	go(2);
	expect("");
	assert_int_equal(play.cells, 0);
	inputs("p1 p2 p3");
	go(2);
	expect("...");
	assert_int_equal(play.cells, 1);
	inputs("w1 p2 w3"); /* partial lines hide the ends of inputs */
	go(1);
	expect("...");
	assert_int_equal(play.cells, 1);
}

static void test_crashes(void **state)
{
	(void)state;
	inputs("p1 c1 p2 p3 c2 p4");
	go(1);
	expect(".a..a.");
	assert_int_equal(play.cells, 3);
	assert_int_equal(play.alone, 2);
	assert_string_equal(play.type[1], "Alone");
	/* The first input in a cell ran alone. */
	inputs("c1 c2 c3");
	go(1);
	expect("aaa");
	assert_int_equal(play.cells, 3);
	assert_int_equal(play.alone, 0);
	inputs("p1 e1 p2"); /* _exit(0) is no pass */
	go(1);
	expect(".a.");
}

static void test_together(void **state)
{
	(void)state;
	inputs("p1 t1 p2 t2 p3");
	go(1);
	expect("...t.");
	assert_memory_equal(play.type[3], "Heap-buffer-overflow", 20);
}

/* The failure shows after all inputs ran: smaller cells find the input. */
static void test_late(void **state)
{
	(void)state;
	inputs("p1 p2 p3 l1 p4 p5 p6 p7");
	go(1);
	expect("...a....");
	assert_true(play.cells <= 8);
	inputs("p1 r1 p2 p3 r2 p4 p5 p6");
	go(1);
	expect(".a..a...");
	assert_memory_equal(play.type[1], "Refused-system-call", 19);
	inputs("l1");
	go(1);
	expect("a");
	inputs("p1 m1 p2 p3 p4 p5 p6 m2"); /* no smaller cell has both */
	go(1);
	expect(".......t");
	assert_int_equal(play.sum.passed, 7);
}

/* A refused call, and then a crash: both are found. */
static void test_refused_and_crash(void **state)
{
	(void)state;
	inputs("p1 r1 p2 c1 p3");
	go(1);
	expect(".a.a.");
}

static void check_cause(size_t input, enum crash_own own, const char *detail,
			enum engine_artifact artifact)
{
	assert_int_equal(play.cause[input].own, own);
	assert_string_equal(play.cause[input].detail, detail);
	assert_int_equal(play.cause[input].artifact, artifact);
}

/* Cause and report are of one cell: of many inputs, of one input, or before a search. */
static void test_causes(void **state)
{
	(void)state;
	inputs("c1");
	go(1);
	check_cause(0, CRASH_OWN_NONE, "", ENGINE_ARTIFACT_CRASH);
	inputs("l1");
	go(1);
	check_cause(0, CRASH_OWN_NONE, "", ENGINE_ARTIFACT_LEAK);
	inputs("r1");
	go(1);
	check_cause(0, CRASH_OWN_SECCOMP, "bpf", ENGINE_ARTIFACT_SYSCALL);
	inputs("b1");
	go(1);
	check_cause(0, CRASH_OWN_PIDS, "", ENGINE_ARTIFACT_PIDS);
	inputs("q1");
	go(1);
	check_cause(0, CRASH_OWN_TIME, "", ENGINE_ARTIFACT_TIMEOUT);
	inputs("p1 m1 p2 p3 p4 p5 p6 m2");
	go(1);
	check_cause(7, CRASH_OWN_NONE, "", ENGINE_ARTIFACT_LEAK);
	inputs("k1 k2 k3 p1");
	go(1);
	check_cause(2, CRASH_OWN_PIDS, "", ENGINE_ARTIFACT_PIDS);
}

/* The line of an input was hidden: the cell proves nothing about the other inputs, either. */
static void test_hidden(void **state)
{
	(void)state;
	inputs("p1 h1 p2");
	go(1);
	/* An input that was never seen to begin does not pass. */
	assert_int_equal(play.cells, 1);
	assert_int_equal(play.alone, 3);
	assert_int_equal(play.sum.passed, 2);
	assert_int_equal(play.sum.left_out, 1);
	assert_non_null(strstr(play.sum.why, "before it ran the input"));
	inputs("p1 h1 c1 p2"); /* it does not hide a failure, either */
	go(1);
	assert_int_equal(play.failed[2], 'a');
	assert_int_equal(play.sum.passed, 2);
	assert_int_equal(play.sum.left_out, 1);
}

/* A target that prints the engine's lines makes no input pass: each input runs alone. */
static void test_forged(void **state)
{
	(void)state;
	inputs("p1 f1 p2");
	go(1);
	expect("...");
	assert_int_equal(play.cells, 1);
	assert_int_equal(play.alone, 3);
	inputs("p1 f1 c1 p2 l1");
	go(1);
	expect("..a.a");
	assert_string_equal(play.type[2], "Alone");
	inputs("p1 d1 c1 p2");
	go(1);
	expect("..a.");
	/* The process exits before the other inputs run. */
	inputs("p1 x1 c1 p2");
	go(1);
	expect("..a.");
	assert_int_equal(play.alone, 4);
	/* An input that runs alone decides by itself. */
	inputs("x1");
	go(1);
	expect(".");
}

/* The cell failed in an odd way, but no input fails alone: all together did. */
static void test_forged_together(void **state)
{
	(void)state;
	inputs("p1 t1 f1 t2 p2");
	go(1);
	expect("....t"); /* the cell's last input is reported */
	assert_int_equal(play.sum.passed, 4);
	inputs("t1 f1 h1 t2");
	go(1);
	assert_int_equal(play.failed[3], 't');
	assert_int_equal(play.sum.passed, 2);
	assert_int_equal(play.sum.left_out, 1);
}

static void test_many(void **state)
{
	static char names[MAX][12];
	unsigned bad = 0;

	(void)state;
	play = (struct play){.n = MAX};
	for (size_t i = 0; i < MAX; i++) {
		bool crash = i % 500 == 250;

		snprintf(names[i], sizeof(names[i]), "%c%zu", crash ? 'c' : 'p', i);
		play.inputs[i] = names[i];
		bad += crash;
	}
	go(3);
	assert_int_equal(play.sum.failed, bad);
	assert_int_equal(play.sum.passed, MAX - bad);
	assert_in_range(play.most, 2, 3);
	assert_true(play.cells + play.alone <= 3 * bad + 16);
}

/* One late failure among a thousand is found by bisection. */
static void test_late_among_many(void **state)
{
	static char names[1000][12];

	(void)state;
	play = (struct play){.n = 1000};
	for (size_t i = 0; i < 1000; i++) {
		snprintf(names[i], sizeof(names[i]), "%c%zu", i == 617 ? 'l' : 'p', i);
		play.inputs[i] = names[i];
	}
	go(1);
	assert_int_equal(play.failed[617], 'a');
	assert_int_equal(play.sum.passed, 999);
	assert_true(play.cells <= 35);
}

static void test_too_many_failures(void **state)
{
	static char names[MAX][12];

	(void)state;
	play = (struct play){.n = MAX};
	for (size_t i = 0; i < MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "c%zu", i);
		play.inputs[i] = names[i];
	}
	go(2);
	assert_in_range(play.sum.failed, BATCH_FAILURES_MAX, BATCH_FAILURES_MAX + 1);
	assert_int_equal(play.sum.passed, 0);
	assert_true(play.sum.left_out > 0);
}

static void test_no_cell(void **state)
{
	(void)state;
	inputs("p1 p2");
	play.no_cell = true;
	go(1);
	assert_int_equal(play.sum.left_out, 2);
	assert_string_equal(play.sum.why, "no crun");
}

static void test_stop(void **state)
{
	(void)state;
	inputs("p1 c1 p2 c2 p3 c3 p4");
	play.stop_after = 2;
	go(1);
	assert_true(play.sum.stopped);
	assert_true(play.sum.left_out > 0);
	assert_true(play.cells == 2);
}

/* The deadline has passed. */
static void test_expired(void **state)
{
	(void)state;
	inputs("p1 c1 p2 c2 p3 c3 p4");
	play.stop_after = 2;
	play.stop_why = "no time";
	go(1);
	assert_false(play.sum.stopped);
	assert_string_equal(play.sum.why, "no time");
	assert_int_equal(play.sum.passed + play.sum.failed + play.sum.left_out, 7);
	assert_true(play.sum.left_out > 0);
}

/* Whichever cell does not start, the replay ends.  An input that did not run is no pass, and is
 * reported. */
static void faults_with(const char *names, unsigned least)
{
	unsigned failed = 0;

	for (unsigned nth = 1; nth < 20; nth++) {
		inputs(names);
		play.fault = nth;
		if (run(1) < 0 || play.sum.left_out > 0 || *play.sum.why) {
			failed++;
			assert_true(!play.done || *play.sum.why);
			assert_true(play.sum.passed <= 4);
		} else {
			expect("..a..");
		}
	}
	assert_true(failed >= least);
}

static void test_faults(void **state)
{
	(void)state;
	faults_with("p1 p2 c1 p3 p4", 3);
	faults_with("p1 f1 c1 p3 p4", 3); /* each input alone */
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_well),
    cmocka_unit_test(test_crashes),
    cmocka_unit_test(test_together),
    cmocka_unit_test(test_late),
    cmocka_unit_test(test_refused_and_crash),
    cmocka_unit_test(test_causes),
    cmocka_unit_test(test_hidden),
    cmocka_unit_test(test_forged),
    cmocka_unit_test(test_forged_together),
    cmocka_unit_test(test_many),
    cmocka_unit_test(test_late_among_many),
    cmocka_unit_test(test_too_many_failures),
    cmocka_unit_test(test_no_cell),
    cmocka_unit_test(test_stop),
    cmocka_unit_test(test_expired),
    cmocka_unit_test(test_faults),
};

UNIT_MAIN(tests)
