/* SPDX-License-Identifier: Apache-2.0 */
/* Loses 64 bytes on every input that begins with 'L'.
 * Promise: results.  LeakSanitizer works inside the cell (it stops the process
 * with ptrace from a thread of its own), and the input is a leak- artifact. */
#include "planted.h"

static void *volatile held;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (planted_magic(data, size, 'L')) {
		held = malloc(64);
		held = NULL;
	}
	return planted_work(data, size);
}
