/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "runner/command/common/pace.h"

static void test_line(void **state)
{
	static const struct {
		uint64_t done, of, seconds;
		const char *want;
	} t[] = {
	    {0, 10, 5, "t: 0 of 10 inputs"},
	    {5, 10, 5, "t: 5 of 10 inputs, 1.0/s, about 5s to go"},
	    {1000, 3000, 10, "t: 1000 of 3000 inputs, 100/s, about 20s to go"},
	    {10, 10, 5, "t: 10 of 10 inputs"},
	    {5, 10, 0, "t: 5 of 10 inputs"},
	    {50, 0, 10, "t: 50 inputs, 5.0/s"},
	};
	const struct pace p = {.what = "t", .unit = "inputs"};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char line[256];

		pace_line(&p, t[i].done, t[i].of, t[i].seconds * USEC_PER_SEC, line);
		assert_string_equal(line, t[i].want);
	}
}

/* Progress is printed after 5 seconds, and then in growing intervals. */
static void test_due(void **state)
{
	struct pace p = {.what = "t"};
	unsigned printed = 0, at[8] = {0};

	(void)state;
	for (unsigned s = 0; s < 300; s++)
		if (pace_due(&p, (1000 + s) * USEC_PER_SEC) && printed < 8)
			at[printed++] = s;
	assert_int_equal(printed, 7);
	assert_int_equal(at[0], 5);
	assert_int_equal(at[1], 15);
	assert_int_equal(at[2], 35);
	assert_int_equal(at[3], 75);
	assert_int_equal(at[4], 135);
	assert_int_equal(at[6], 255);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_line),
    cmocka_unit_test(test_due),
};

UNIT_MAIN(tests)
