/* SPDX-License-Identifier: Apache-2.0 */
/* The bug of calc_fuzzer, in a target with another entry to the parser.
 * Promise: results.  A bug that two targets share is one crash. */
#include "calc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct calc c = {data, data + size, 0};

	return size > 0 && calc_list(&c) == 4711 ? planted_work(data, size) : 0;
}
