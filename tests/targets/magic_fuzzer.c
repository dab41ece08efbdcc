/* SPDX-License-Identifier: Apache-2.0 */
/* A target with a late coverage gain: a few edges until the hash of the input's first eight
 * bytes ends in MAGIC_BITS zero bits (default 22: some 20 CPU seconds on a machine
 * of 2026, by luck between 1 and 80; each bit less halves it), then hundreds of
 * edges more.  No comparison gives the engine a hint.
 * Promise: truth.  The plateau rule waits long enough, in effective time, or
 * says honestly that it did not. */
#include "planted.h"

#define GATE  8
#define DEPTH 16

static uint32_t hash(const uint8_t *data, size_t size)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < size; i++)
		h = (h ^ data[i]) * 16777619u;
	h = (h ^ (h >> 16)) * 0x85ebca6bu; /* FNV's low bits are weak */
	return h ^ (h >> 13);
}

#define EDGE(n)                         \
	case n:                         \
		*acc = *acc * 33 + (n); \
		break
#define EDGE8(n)       \
	EDGE(n);       \
	EDGE((n) + 1); \
	EDGE((n) + 2); \
	EDGE((n) + 3); \
	EDGE((n) + 4); \
	EDGE((n) + 5); \
	EDGE((n) + 6); \
	EDGE((n) + 7)
#define EDGE64(n)        \
	EDGE8(n);        \
	EDGE8((n) + 8);  \
	EDGE8((n) + 16); \
	EDGE8((n) + 24); \
	EDGE8((n) + 32); \
	EDGE8((n) + 40); \
	EDGE8((n) + 48); \
	EDGE8((n) + 56)

/* Not optimised: the cases look alike, and would be folded into a table. */
__attribute__((optnone)) static void bloom(uint8_t byte, volatile uint32_t *acc)
{
	switch (byte) {
		EDGE64(0);
		EDGE64(64);
		EDGE64(128);
		EDGE64(192);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint32_t mask;
	volatile uint32_t acc = 0;

	if (!mask)
		mask = (UINT32_C(1) << planted_env("MAGIC_BITS", 22)) - 1;
	if (size < GATE || (hash(data, GATE) & mask) != 0)
		return 0;
	for (size_t i = GATE; i < size && i < DEPTH; i++)
		bloom(data[i], &acc);
	return 0;
}
