/* SPDX-License-Identifier: Apache-2.0 */
/* A use-after-free behind BEHIND_STAGES bytes that no comparison reveals, and an easy bug that
 * inputs on the way to it often hit.  BEHIND_EASY: none, a signed overflow (a program built with
 * recovery continues after it), or a write beyond a block. */
#ifndef TESTS_TARGETS_BEHIND_H
#define TESTS_TARGETS_BEHIND_H

#include "planted.h"

#define BEHIND_NOTHING	0
#define BEHIND_OVERFLOW 1
#define BEHIND_WRITE	2

#ifndef BEHIND_STAGES
#define BEHIND_STAGES 5
#endif

static volatile int behind_limit = INT32_MAX, behind_calls;

__attribute__((noinline)) static void behind_easy(const uint8_t *data)
{
#if BEHIND_EASY == BEHIND_OVERFLOW
	behind_limit = behind_limit + data[0];
	behind_limit = INT32_MAX;
#elif BEHIND_EASY == BEHIND_WRITE
	volatile uint8_t *p = malloc(4);

	if (p)
		p[4] = data[0];
	free((void *)p);
#endif
	behind_calls += data[0];
}

__attribute__((noinline)) static void behind_deep(const uint8_t *data)
{
	volatile uint8_t *p = malloc(4);

	free((void *)p);
	behind_calls += p[1] + data[0];
}

static int behind(const uint8_t *data, size_t size)
{
	static const uint8_t want[] = {0x31, 0x52, 0x77, 0x19, 0xa3, 0xe4, 0x2b, 0xc8};
	size_t i = 0;

	if (size < 12 || data[0] != 'P')
		return 0;
	if (data[11] == 0x55)
		behind_easy(data);
#define BEHIND_STAGE                                                             \
	if (i < BEHIND_STAGES &&                                                 \
	    (uint8_t)((data[i + 1] ^ (uint8_t)(data[i] * 167)) * 13) != want[i]) \
		return 0;                                                        \
	i++;                                                                     \
	behind_calls++
	/* Each stage has its own edge. */
	BEHIND_STAGE;
	BEHIND_STAGE;
	BEHIND_STAGE;
	BEHIND_STAGE;
	BEHIND_STAGE;
	BEHIND_STAGE;
	BEHIND_STAGE;
	BEHIND_STAGE;
#ifdef BEHIND_THROUGH
	behind_easy(data); /* every input that hits the deep bug also hits the easy bug */
#endif
	behind_deep(data);
	return 0;
}

#endif
