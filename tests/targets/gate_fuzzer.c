/* SPDX-License-Identifier: Apache-2.0 */
/* A target with a late coverage gain at a known time.  It has a few edges until a hash of the
 * input's first eight bytes, salted with GATE_SALT, is below GATE_BELOW; then hundreds more.  The
 * engine's inputs before that depend only on its seed, so the time can be measured: with
 * GATE_LOOK=N the gate stays closed, and from the Nth input on this is printed for SALTS gates:
 *
 *     gate: SALT BELOW: INPUT       GATE_SALT, GATE_BELOW: would have opened at that input
 *
 * Promise: truth.  A cell that gets a quarter of a CPU is fuzzed until its gate opens
 * (tests/bench/contention.sh). */
#include "planted.h"

#include <inttypes.h>

#define GATE  8
#define DEPTH 16
#define SALTS 32

/* The engine must not see the edges and comparisons in here. */
#define UNSEEN __attribute__((noinline, no_sanitize("coverage")))

UNSEEN static uint32_t hash(const uint8_t *data, uint32_t salt)
{
	uint32_t h = 2166136261u ^ (salt * 0x9e3779b9u);

	for (size_t i = 0; i < GATE; i++)
		h = (h ^ data[i]) * 16777619u;
	h = (h ^ (h >> 16)) * 0x85ebca6bu; /* FNV's low bits are weak */
	h = (h ^ (h >> 13)) * 0xc2b2ae35u;
	return h ^ (h >> 16);
}

/* A gate would open at the first input with a hash below all earlier ones. */
UNSEEN static void look(const uint8_t *data, size_t size, uint64_t from)
{
	static uint32_t least[SALTS];
	static uint64_t inputs;

	inputs++;
	for (uint32_t s = 0; s < SALTS && size >= GATE; s++) {
		uint32_t h = hash(data, s);

		if (least[s] != 0 && h >= least[s])
			continue;
		least[s] = h > 0 ? h : 1;
		if (inputs >= from)
			dprintf(STDERR_FILENO, "gate: %" PRIu32 " %" PRIu32 ": %" PRIu64 "\n", s,
				least[s] + 1, inputs);
	}
}

UNSEEN static bool opens(const uint8_t *data, size_t size)
{
	static uint64_t below, salt, from;

	static bool known;

	if (!known) {
		known = true;
		from = planted_env("GATE_LOOK", 0);
		salt = planted_env("GATE_SALT", 0);
		below = planted_env("GATE_BELOW", 256);
	}
	if (from > 0)
		look(data, size, from);
	return from == 0 && size >= GATE && hash(data, (uint32_t)salt) < below;
}

#define EDGE(n)                         \
	case n:                         \
		*acc = *acc * 33 + (n); \
		break
#define EDGE4(n)       \
	EDGE(n);       \
	EDGE((n) + 1); \
	EDGE((n) + 2); \
	EDGE((n) + 3)
#define EDGE16(n)       \
	EDGE4(n);       \
	EDGE4((n) + 4); \
	EDGE4((n) + 8); \
	EDGE4((n) + 12)
#define EDGE64(n)         \
	EDGE16(n);        \
	EDGE16((n) + 16); \
	EDGE16((n) + 32); \
	EDGE16((n) + 48)

/* Not optimised: the cases look alike, and would be folded into a table. */
__attribute__((optnone)) static void bloom(unsigned int what, volatile uint32_t *acc)
{
	switch (what) {
		EDGE64(0);
		EDGE64(64);
		EDGE64(128);
		EDGE64(192);
		EDGE64(256);
		EDGE64(320);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	volatile uint32_t acc = 0;
	bool open = opens(data, size);

	for (size_t i = 0; i < size && i < GATE; i++)
		acc += data[i] > 0x7f ? 1 : 3;
	if (!open)
		return 0;
	for (size_t i = GATE; i < size && i < DEPTH; i++)
		bloom(data[i] | (i & 1) << 8, &acc);
	return 0;
}
