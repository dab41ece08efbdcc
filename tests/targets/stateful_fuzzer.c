/* SPDX-License-Identifier: Apache-2.0 */
/* Overflows the heap at the second input that begins with 'S' in one process, and prints
 * words without a newline at every input.
 * Promise: truth.  Inputs that are replayed many to a process are each said to pass or
 * to fail, also one that passes when it is run alone, and whatever the target prints. */
#include "planted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned int seen;
	volatile uint8_t *cell;

	dprintf(STDERR_FILENO, "planted: half a line ");
	if (size == 0 || data[0] != 'S' || ++seen < 2)
		return 0;
	cell = malloc(1);
	if (cell)
		cell[1] = 'x';
	free((void *)cell);
	return 0;
}
