/* SPDX-License-Identifier: Apache-2.0 */
/* Overflows the heap at an input that begins with 'S' when another one that does was in
 * the same process before, and prints words without a newline at every input.  Not when
 * it is the same one again: libFuzzer runs an input twice when it looks for a leak.
 * Promise: truth.  Inputs that are replayed many to a process are each said to pass or
 * to fail, also one that passes when it is run alone, and whatever the target prints. */
#include "planted.h"

/* FNV-1a: enough to tell two inputs apart. */
static uint64_t name_of(const uint8_t *data, size_t size)
{
	uint64_t name = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		name = (name ^ data[i]) * UINT64_C(0x100000001b3);
	return name;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t first;
	volatile uint8_t *cell;

	dprintf(STDERR_FILENO, "planted: half a line ");
	if (size == 0 || data[0] != 'S')
		return 0;
	if (first == 0)
		first = name_of(data, size);
	if (name_of(data, size) == first)
		return 0;
	cell = malloc(1);
	if (cell)
		cell[1] = 'x';
	free((void *)cell);
	return 0;
}
