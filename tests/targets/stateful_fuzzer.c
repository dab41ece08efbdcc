/* SPDX-License-Identifier: Apache-2.0 */
/* Overflows the heap at an input that begins with 'S', if the process has already run a different
 * input with 'S'.  (libFuzzer runs the same input twice to find leaks.)  It also prints words
 * without a newline at every input. Promise: truth.  When one process replays many inputs, each
 * input gets a result.  This holds for inputs that pass alone, and for any output of the target. */
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
