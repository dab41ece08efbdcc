/* SPDX-License-Identifier: Apache-2.0 */
/* From the first input that begins with 'N' on, every input takes twelve seconds.
 * Promise: truth.  With a longer timeout, the current input of a stopped target is no failure. */
#include "planted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool naps;
	time_t end = planted_now() + 12;

	naps = naps || planted_magic(data, size, 'N');
	while (naps && planted_now() < end)
		planted_nap(10);
	return planted_work(data, size);
}
