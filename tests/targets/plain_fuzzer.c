/* SPDX-License-Identifier: Apache-2.0 */
/* A write through a null pointer behind the two bytes "NO", built without any
 * sanitizer: libFuzzer's own handler makes the report (deadly signal).
 * Promise: results, with the shortest report there is. */
#include "planted.h"

static int *volatile nowhere;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1 && data[0] == 'N' && data[1] == 'O')
		*nowhere = 1;
	return planted_work(data, size);
}
