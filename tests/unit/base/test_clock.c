/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"

#include <time.h>

/* The result lies between two readings of the kernel's clock, in microseconds. */
static void between(clockid_t id, uint64_t (*now)(void))
{
	struct timespec a, b;
	uint64_t us;

	assert_int_equal(clock_gettime(id, &a), 0);
	us = now();
	assert_int_equal(clock_gettime(id, &b), 0);
	assert_in_range(us, (uint64_t)a.tv_sec * 1000000 + (uint64_t)a.tv_nsec / 1000,
			(uint64_t)b.tv_sec * 1000000 + (uint64_t)b.tv_nsec / 1000);
}

static void test_clocks(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		between(CLOCK_MONOTONIC, clock_mono_us);
		between(CLOCK_REALTIME, clock_real_us);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_clocks),
};

UNIT_MAIN(tests)
