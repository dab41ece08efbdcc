/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TARGETS_GATED_H
#define TESTS_TARGETS_GATED_H

/* Hundreds of edges behind a gate. */
#include "planted.h"

/* The engine must not see the edges and comparisons in here. */
#define UNSEEN __attribute__((noinline, unused, no_sanitize("coverage")))

#define GATED_EDGE(n)                   \
	case n:                         \
		*acc = *acc * 33 + (n); \
		break;
#define GATED_4(n)          \
	GATED_EDGE(n)       \
	GATED_EDGE((n) + 1) \
	GATED_EDGE((n) + 2) \
	GATED_EDGE((n) + 3)
#define GATED_16(n)      \
	GATED_4(n)       \
	GATED_4((n) + 4) \
	GATED_4((n) + 8) \
	GATED_4((n) + 12)
#define GATED_64(n)        \
	GATED_16(n)        \
	GATED_16((n) + 16) \
	GATED_16((n) + 32) \
	GATED_16((n) + 48)
#define GATED_256(n)        \
	GATED_64(n)         \
	GATED_64((n) + 64)  \
	GATED_64((n) + 128) \
	GATED_64((n) + 192)

__attribute__((always_inline)) static inline void gated_behind(const uint8_t *data, size_t size)
{
	volatile uint32_t first = 0, second = 0;

	for (size_t i = 0; i < size && i < 64; i++) {
		volatile uint32_t *acc = &first;

		switch (data[i]) {
			GATED_256(0)
		default:
			break;
		}
		acc = &second;
		switch ((uint8_t)(data[i] ^ (i ? data[i - 1] : 0))) {
			GATED_256(0)
		default:
			break;
		}
	}
}

/* Returns a number below n for one of 1000 inputs, else n.  The engine cannot aim at a number.  So
 * coverage grows for some CPU seconds, until all n numbers were seen. */
UNSEEN static uint32_t gated_chance(const uint8_t *data, size_t size, uint32_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < size; i++)
		h = (h ^ data[i]) * 16777619u;
	h = (h ^ (h >> 16)) * 0x85ebca6bu; /* FNV's low bits are weak */
	h = (h ^ (h >> 13)) % (n * 1000);
	return h < n ? h : n;
}

#endif
