// SPDX-License-Identifier: Apache-2.0
#include <stddef.h>
#include <stdint.h>

// Lines, words, and pairs of them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	volatile unsigned lines = 0, words = 0, pairs = 0;

	for (size_t i = 0; i < size; i++) {
		if (data[i] == '\n')
			lines = lines + 1;
		else if (data[i] == ' ')
			words = words + 1;
		else if (data[i] == '=' && i > 0 && data[i - 1] == '=')
			pairs = pairs + 1;
	}
	return 0;
}
