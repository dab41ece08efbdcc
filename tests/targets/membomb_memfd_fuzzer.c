/* SPDX-License-Identifier: Apache-2.0 */
/* Fills memory files by write(2), as fast as it can, on an input that begins with 'M'.  It goes
 * on when a write fails.  The memory is in no mapping, so that no RSS shows it, and a failing
 * write does not halt the cell.  Cap: BOMB_BYTES (default 8 GiB).
 * Promise: memory.  It counts like any other memory, and the input is saved as `oom-`. */
#include "planted.h"
#include <sys/mman.h>

enum { BLOCK = 1 << 20, FILE_MAX = 16 * BLOCK };

static void fill(int fd)
{
	static char block[BLOCK];

	memset(block, 0x5a, sizeof(block));
	for (size_t n = 0; n < FILE_MAX; n += sizeof(block))
		while (write(fd, block, sizeof(block)) < 0)
			planted_nap(1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!planted_magic(data, size, 'M'))
		return planted_work(data, size);
	for (uint64_t n = 0; n < planted_env("BOMB_BYTES", 8 * PLANTED_GIB); n += FILE_MAX)
		fill(memfd_create("bomb", MFD_CLOEXEC));
	planted_cap("memory file bomb");
}
