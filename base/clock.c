/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <time.h>

static uint64_t read_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts); /* cannot fail for these two clocks */
	return (uint64_t)ts.tv_sec * USEC_PER_SEC + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_mono_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

uint64_t clock_real_us(void)
{
	return read_us(CLOCK_REALTIME);
}
