/* SPDX-License-Identifier: Apache-2.0 */
/* Never returns from an input that begins with 'T'.  Signals are unchanged.
 * Promise: time.  The engine's own alarm (-timeout, 2 s by the .options file)
 * ends it and leaves a timeout- artifact. */
#include "planted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	volatile uint64_t turns = 0;

	if (planted_magic(data, size, 'T'))
		for (;;)
			turns++;
	return planted_work(data, size);
}
