/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's output about given inputs. */
#include "tests/unit/unit.h"

#include "runner/engine/libfuzzer/libfuzzer.h"

static void feed(struct engine_state *s, const char *line)
{
	libfuzzer_line(slice_of(line), s);
}

static void test_inputs(void **state)
{
	struct engine_state s = {0};

	(void)state;
	assert_string_equal(s.input, "");
	feed(&s, "/target/t: Running 2 inputs 1 time(s) each.");
	assert_false(s.replaying);
	assert_int_equal(s.inputs, 0);
	feed(&s, "Running: /seeds/inputs/one");
	assert_true(s.replaying);
	assert_false(s.done);
	assert_int_equal(s.inputs, 1);
	assert_string_equal(s.input, "/seeds/inputs/one");
	feed(&s, "Executed /seeds/inputs/one in 0 ms");
	assert_true(s.done);
	feed(&s, "Running: /seeds/inputs/two");
	assert_false(s.done); /* the target may call _exit() here */
	assert_int_equal(s.inputs, 2);
	assert_string_equal(s.input, "/seeds/inputs/two");
	feed(&s, "Executed /seeds/inputs/one in 0 ms"); /* not this input */
	feed(&s, "Executed /seeds/inputs/two");
	feed(&s, "Executed /seeds/inputs/twofold in 0 ms");
	assert_false(s.done);
	feed(&s, "Executed /seeds/inputs/two in 12 ms");
	assert_true(s.done);
}

/* A target that prints without newlines hides the end of its input, but not the end of all. */
static void test_half_lines(void **state)
{
	struct engine_state s = {0};

	(void)state;
	feed(&s, "*** NOTE: fuzzing was not performed, you have only");
	assert_false(s.done);
	feed(&s, "Running: /seeds/inputs/one");
	feed(&s, "words of the targetExecuted /seeds/inputs/one in 0 ms");
	assert_false(s.done);
	feed(&s, "***");
	feed(&s, "*** NOTE: fuzzing was not performed, you have only");
	assert_true(s.done);
}

/* The target's own output: bounded, and no end of an input that did not begin. */
static void test_hostile(void **state)
{
	struct engine_state s = {0};
	char line[1000] = "Running: ";

	(void)state;
	feed(&s, "Executed nothing");
	assert_false(s.done);
	memset(line + 9, 'x', sizeof(line) - 10);
	feed(&s, line);
	assert_int_equal(strlen(s.input), sizeof(s.input) - 1);
	feed(&s, "Running: "); /* no name, no input */
	assert_int_equal(s.inputs, 1);
	memcpy(line, "Executed ", 9);
	feed(&s, line); /* a cut name is recognised by its beginning */
	assert_true(s.done);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_inputs),
    cmocka_unit_test(test_half_lines),
    cmocka_unit_test(test_hostile),
};

UNIT_MAIN(tests)
