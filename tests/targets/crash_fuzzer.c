/* SPDX-License-Identifier: Apache-2.0 */
/* A heap-buffer-overflow behind the two bytes "FZ", found in a fraction of a second.
 * Promise: results.  The crash's input is kept as a crash- artifact, and the
 * job says `crashed`, with the count of crashes and restarts. */
#include "planted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	volatile uint8_t *copy;

	if (size < 2 || data[0] != 'F' || data[1] != 'Z')
		return planted_work(data, size);
	copy = malloc(size);
	if (!copy)
		return 0;
	for (size_t i = 0; i <= size; i++) /* one too many */
		copy[i] = 'x';
	free((void *)copy);
	return 0;
}
