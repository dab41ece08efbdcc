/* SPDX-License-Identifier: Apache-2.0 */
/* A language.  The engine learns its words from comparisons; programs get longer and reach the same
 * code in more ways.  But no generated program is ever valid, and most of the code needs a valid
 * program.
 * Promise: truth.  Its health reports that it is probably a format with structure. */
#include "gated.h"

#define STATEMENTS 200

/* The engine learns a word of four bytes from its comparison. */
static size_t statement(const uint8_t *data, size_t size)
{
	static const char words[][5] = {"loop", "call", "push", "pull", "test", "jump"};
	volatile uint32_t acc = 0;
	uint32_t have, want;
	size_t n = 0;

	for (; n + 4 <= size; n += 4) {
		size_t i = 0;

		memcpy(&have, data + n, 4);
		for (; i < sizeof(words) / sizeof(words[0]); i++) {
			memcpy(&want, words[i], 4);
			if (have == want)
				break;
		}
		if (i == sizeof(words) / sizeof(words[0]))
			break;
		acc = acc * 33 + (uint32_t)i;
	}
	return n;
}

UNSEEN static int means_something(const uint8_t *data, size_t size)
{
	return size == 64 && gated_chance(data, size, 1) == 0 && data[63] == data[62] + 77 &&
	       data[61] == 0xfe;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = statement(data, size);
	uint32_t s = size ? gated_chance(data, size, STATEMENTS) : STATEMENTS;
	uint8_t value = (uint8_t)s;

	for (unsigned int k = 0; s < STATEMENTS && k <= data[0] % 40u; k++)
		gated_behind(&value, 1);
	if (n == size && means_something(data, size)) {
		gated_behind(data, size);
		gated_behind(data + 1, size - 1);
	}
	return 0;
}
