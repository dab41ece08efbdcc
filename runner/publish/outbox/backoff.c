/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/outbox/backoff.h"

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014) */
static uint64_t next_random(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t backoff_jitter(uint64_t *seed, uint64_t n)
{
	uint64_t v = next_random(seed);

	return n ? v % n : 0;
}

static uint64_t outbox_backoff_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t backoff_wait(uint64_t tries, uint64_t wish, uint64_t most, uint64_t *seed)
{
	uint64_t wait = BACKOFF_FIRST_WAIT;

	if (wish > 0) {
		wish = outbox_backoff_least(wish, BACKOFF_DAY);
		return wish +
		       backoff_jitter(seed, outbox_backoff_least(wish / 8, BACKOFF_FIRST_WAIT) + 1);
	}
	for (uint64_t i = 1; i < tries && wait < most; i++)
		wait *= 2;
	wait = outbox_backoff_least(wait, most);
	wait -= backoff_jitter(seed, wait / 4 + 1);
	return wait ? wait : 1;
}

bool backoff_is_due(uint64_t now, uint64_t last_try, uint64_t next_try)
{
	return now >= next_try || now < last_try;
}
