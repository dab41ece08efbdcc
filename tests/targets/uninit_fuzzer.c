/* SPDX-License-Identifier: Apache-2.0 */
/* A decision on memory that was never written, behind the byte 'V', built with
 * MemorySanitizer.
 * Promise: results, and MemorySanitizer's address space fits into a cell. */
#include "planted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	volatile uint8_t *p = malloc(8);
	int r;

	if (!p)
		return 0;
	if (!planted_magic(data, size, 'V'))
		p[3] = 0;
	r = p[3] == 7 ? planted_work(data, size) : 0;
	free((void *)p);
	return r;
}
