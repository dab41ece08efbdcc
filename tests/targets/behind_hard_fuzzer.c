/* SPDX-License-Identifier: Apache-2.0 */
/* A use-after-free behind an overflow of a block, which ends the process each time.
 * Promise: results.  Restarts after the known crash cost little, and the other one is found. */
#define BEHIND_EASY BEHIND_WRITE
#include "behind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return behind(data, size);
}
