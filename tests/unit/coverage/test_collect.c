/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/run/coverage/collect.h"

#include <stdlib.h>

/* --- one step --------------------------------------------------------------------------- */

static void test_after_success(void **state)
{
	(void)state;
	assert_int_equal(collect_next_size(1, 1, true), 2);
	assert_int_equal(collect_next_size(64, 64, true), 128);
	assert_int_equal(collect_next_size(COLLECT_INPUTS_MAX / 2, COLLECT_INPUTS_MAX / 2, true),
			 COLLECT_INPUTS_MAX);
	assert_int_equal(collect_next_size(COLLECT_INPUTS_MAX - 1, COLLECT_INPUTS_MAX - 1, true),
			 COLLECT_INPUTS_MAX);
	assert_int_equal(collect_next_size(COLLECT_INPUTS_MAX, COLLECT_INPUTS_MAX, true),
			 COLLECT_INPUTS_MAX);
}

/* Those before the failing input run again, without it. */
static void test_failure_within(void **state)
{
	(void)state;
	assert_int_equal(collect_next_size(100, 2, false), 1);
	assert_int_equal(collect_next_size(100, 50, false), 49);
	assert_int_equal(collect_next_size(100, 99, false), 98);
}

static void test_failure_at_the_end(void **state)
{
	(void)state;
	assert_int_equal(collect_next_size(100, 100, false), 50);
	assert_int_equal(collect_next_size(3, 3, false), 1);
	assert_int_equal(collect_next_size(2, 2, false), 1);
}

/* The first input is left out, and the next ones are no longer suspects. */
static void test_failure_of_the_first(void **state)
{
	(void)state;
	assert_int_equal(collect_next_size(1, 1, false), COLLECT_INPUTS_AFTER);
	assert_int_equal(collect_next_size(5000, 1, false), COLLECT_INPUTS_AFTER);
}

/* Every size is usable, and a failure that leaves out no input has a smaller process next. */
static void test_all_steps(void **state)
{
	(void)state;
	for (size_t n = 1; n <= COLLECT_INPUTS_MAX; n += n < 200 ? 1 : 97)
		for (size_t started = 1; started <= n; started++) {
			size_t next = collect_next_size(n, started, false);

			assert_true(next >= 1 && next <= COLLECT_INPUTS_MAX);
			if (started > 1)
				assert_true(next < n && next < started);
		}
}

/* --- a whole corpus -------------------------------------------------------------------------- */

enum { CORPUS = 700 };

/* How an input fails. */
enum how {
	PASSES,
	FAILS,	    /* when it runs */
	FAILS_LATE, /* its process fails at its end: a leak, for example */
	/* Two of these in one process fail, as if they used up the memory; one alone passes. */
	FAILS_TOGETHER,
};

struct outcome {
	size_t started;
	bool ended;
};

/* A process of n inputs. */
static struct outcome run_process(const enum how *inputs, size_t n)
{
	struct outcome o = {.started = 0, .ended = true};
	unsigned together = 0;

	while (o.started < n) {
		enum how how = inputs[o.started++];

		together += how == FAILS_TOGETHER;
		if (how == FAILS || together == 2)
			return (struct outcome){.started = o.started};
		if (how == FAILS_LATE)
			o.ended = false;
	}
	return o;
}

/* As the slots of collect.c use it: a failed process leaves out its first input if no other began.
 * Returns the number of processes. */
static size_t collect(const enum how *inputs, bool passed[CORPUS])
{
	size_t at = 0, size = CORPUS, processes = 0;

	memset(passed, 0, CORPUS * sizeof(*passed));
	while (at < CORPUS) {
		size_t n = size < CORPUS - at ? size : CORPUS - at;
		struct outcome o = run_process(inputs + at, n);

		assert_true(++processes <= 100 * (size_t)CORPUS);
		if (o.ended) {
			for (size_t i = 0; i < n; i++)
				passed[at + i] = true;
			at += n;
		} else if (o.started <= 1) {
			at++;
		}
		size = collect_next_size(n, o.started, o.ended);
		assert_true(size > 0);
	}
	return processes;
}

/* Exactly the inputs that fail alone are left out. */
static void check(const enum how *inputs)
{
	bool passed[CORPUS];

	(void)collect(inputs, passed);
	for (size_t i = 0; i < CORPUS; i++)
		if (passed[i] != (inputs[i] == PASSES || inputs[i] == FAILS_TOGETHER))
			fail_msg("input %zu of kind %d was %s", i, (int)inputs[i],
				 passed[i] ? "counted" : "lost");
}

static void test_good_corpus(void **state)
{
	enum how inputs[CORPUS] = {0};
	bool passed[CORPUS];

	(void)state;
	assert_int_equal(collect(inputs, passed), 1);
	check(inputs);
}

static void test_one_bad_input(void **state)
{
	(void)state;
	for (int how = FAILS; how <= FAILS_LATE; how++)
		for (size_t bad = 0; bad < CORPUS; bad++) {
			enum how inputs[CORPUS] = {0};
			bool passed[CORPUS];

			inputs[bad] = (enum how)how;
			assert_true(collect(inputs, passed) < 40);
			check(inputs);
		}
}

static void test_all_bad(void **state)
{
	(void)state;
	for (int how = FAILS; how <= FAILS_TOGETHER; how++) {
		enum how inputs[CORPUS];

		for (size_t i = 0; i < CORPUS; i++)
			inputs[i] = (enum how)how;
		check(inputs);
	}
}

static void test_random(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		enum how inputs[CORPUS] = {0};
		unsigned one_in = 1 + (unsigned)rand_r(&seed) % 200;

		for (size_t i = 0; i < CORPUS; i++)
			if ((unsigned)rand_r(&seed) % one_in == 0)
				inputs[i] = (enum how)((unsigned)rand_r(&seed) % 4);
		check(inputs);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_after_success),
    cmocka_unit_test(test_failure_within),
    cmocka_unit_test(test_failure_at_the_end),
    cmocka_unit_test(test_failure_of_the_first),
    cmocka_unit_test(test_all_steps),
    cmocka_unit_test(test_good_corpus),
    cmocka_unit_test(test_one_bad_input),
    cmocka_unit_test(test_all_bad),
    cmocka_unit_test(test_random),
};

UNIT_MAIN(tests)
