/* SPDX-License-Identifier: Apache-2.0 */
/* A signed overflow behind the byte 'U', built with UndefinedBehaviorSanitizer
 * and no AddressSanitizer.
 * Promise: results, with another sanitizer's report. */
#include "planted.h"

static volatile int limit = INT32_MAX;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (planted_magic(data, size, 'U'))
		limit = limit + 1;
	return planted_work(data, size);
}
