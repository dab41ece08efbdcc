/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TARGETS_BOMB_H
#define TESTS_TARGETS_BOMB_H

/* Memory that is taken and written, for the memory bombs.  The cap is
 * BOMB_BYTES from the environment, 8 GiB by default. */

#include "planted.h"
#include <sys/mman.h>

/* Takes and writes one block; false when the kernel has no more.  It is never
 * given back.  mmap and not malloc: nothing of the sanitizer is in between. */
static inline bool bomb_block(size_t size)
{
	static _Atomic uint64_t taken;
	void *p;

	if (taken >= planted_env("BOMB_BYTES", 8 * PLANTED_GIB))
		planted_cap("bomb");
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	memset(p, 0x5a, size);
	taken += size;
	return true;
}

#endif
