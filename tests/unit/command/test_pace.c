/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "runner/command/pace.h"

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
	};
	const struct pace p = {.what = "t", .unit = "inputs"};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char line[256];

		pace_line(&p, t[i].done, t[i].of, t[i].seconds * USEC_PER_SEC, line);
		assert_string_equal(line, t[i].want);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_line),
};

UNIT_MAIN(tests)
