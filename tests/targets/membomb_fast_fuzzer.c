/* SPDX-License-Identifier: Apache-2.0 */
/* Takes and writes memory as fast as it can, on an input that begins with 'M'.
 * BOMB_WAIT: after so many milliseconds.
 * Promise: memory.  The cell never holds more than its limit, and the input is
 * saved as an oom- artifact by the engine's once-a-second watchdog, not lost to
 * the kernel's kill. */
#include "bomb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!planted_magic(data, size, 'M'))
		return planted_work(data, size);
	planted_nap((long)planted_env("BOMB_WAIT", 0));
	for (;;)
		if (!bomb_block((size_t)PLANTED_MIB))
			planted_nap(1);
}
