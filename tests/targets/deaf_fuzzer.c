/* SPDX-License-Identifier: Apache-2.0 */
/* On an input that begins with 'D', ignores SIGALRM, which the engine's timeout needs, and loops
 * forever.
 * Promise: truth.  The input counts as a timeout although the engine does not report it. */
#include "planted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	volatile uint64_t turns = 0;

	if (!planted_magic(data, size, 'D'))
		return planted_work(data, size);
	signal(SIGALRM, SIG_IGN);
	for (;;)
		turns++;
}
