/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/run/job/fuzzing.h"

#include <math.h>
#include <stdio.h>

#define S UINT64_C(1000000)

/* The engine measures wall time. */
static void a_waiting_target_gets_longer(void **state)
{
	static const struct {
		double starved;
		unsigned times;
	} v[] = {{0, 1},    {0.2, 1},	{0.33, 1}, {0.35, 2}, {0.5, 2},
		 {0.66, 3}, {0.749, 4}, {0.75, 4}, {0.9, 4},  {1, 4}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		assert_int_equal(fuzzing_input_timeout(30 * S, v[i].starved), S * 30 * v[i].times);
}

/* The result is between its time and four times its time, for any figures. */
static void any_share_is_bounded(void **state)
{
	const double odd[] = {-1, 2, 1e300, -1e300, NAN, INFINITY, -INFINITY};
	uint64_t day = 86400 * S;

	(void)state;
	for (unsigned i = 0; i <= 1000; i++)
		assert_in_range(fuzzing_input_timeout(day, i / 1000.0), day, 4 * day);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_in_range(fuzzing_input_timeout(day, odd[i]), day, 4 * day);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_waiting_target_gets_longer),
    cmocka_unit_test(any_share_is_bounded),
};

UNIT_MAIN(tests)
