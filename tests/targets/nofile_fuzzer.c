/* SPDX-License-Identifier: Apache-2.0 */
/* On an input that begins with 'F', opens files until no descriptor is left, then crashes: the
 * engine cannot write an artifact.
 * Promise: results.  An input that the engine printed is not lost. */
#include "planted.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!planted_magic(data, size, 'F'))
		return planted_work(data, size);
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	abort();
}
