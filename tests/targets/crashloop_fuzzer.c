/* SPDX-License-Identifier: Apache-2.0 */
/* Crashes on every input but the empty one, so at once after every start.
 * Promise: truth.  Restarts are capped: the job ends as `crash-loop` and does
 * not burn its whole time on restarts. */
#include "planted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0 && data)
		abort();
	return 0;
}
