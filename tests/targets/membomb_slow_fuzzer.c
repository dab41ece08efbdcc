/* SPDX-License-Identifier: Apache-2.0 */
/* Grows by 8 MiB every 50 ms on an input that begins with 'M': slow enough for
 * the engine's watchdog.
 * Promise: memory, and the input that used it up is saved as an oom- artifact. */
#include "bomb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!planted_magic(data, size, 'M'))
		return planted_work(data, size);
	for (;;) {
		(void)bomb_block((size_t)(8 * PLANTED_MIB));
		planted_nap(50);
	}
}
