/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for 1 GiB in one malloc on an input that begins with 'B'.
 * Promise: results.  The engine's malloc limit refuses it before the memory is
 * touched, and the input is an oom- artifact with a stack. */
#include "planted.h"

static void *volatile held;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (planted_magic(data, size, 'B')) {
		held = malloc((size_t)PLANTED_GIB);
		free(held);
		held = NULL;
	}
	return planted_work(data, size);
}
