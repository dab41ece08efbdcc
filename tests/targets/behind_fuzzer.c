/* SPDX-License-Identifier: Apache-2.0 */
/* A use-after-free behind a signed overflow, built with recovery: each failing input hits the
 * overflow first.
 * Promise: results.  The overflow is a crash, and fuzzing continues past it to the other crash. */
#define BEHIND_EASY BEHIND_OVERFLOW
#define BEHIND_THROUGH
#include "behind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return behind(data, size);
}
