/* SPDX-License-Identifier: Apache-2.0 */
/* One bug with many stacks.
 * Promise: results.  All failures of a bug are one crash. */
#include "calc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct calc c = {data, data + size, 0};

	return calc_sum(&c) == 4711 ? planted_work(data, size) : 0;
}
