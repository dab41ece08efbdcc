/* SPDX-License-Identifier: Apache-2.0 */
/* Takes and writes memory as fast as it can on an input that begins with 'M'.  It does so in
 * BOMB_THREADS threads (default 16), of which one is the engine's.  BOMB_MALLOC=1: through
 * malloc, in pieces that come from an arena.  Then a thread may be stopped while it holds the
 * arena's lock.  BOMB_POPULATE=1: in large pieces, each taken by one system call.  A thread cannot
 * be frozen before that returns.
 * Promise: the input that took the memory is saved.  Only one thread writes it; the others must
 * not take the rest of the memory before. */
#include "bomb.h"
#include <pthread.h>

enum { THREADS_MAX = 64, PIECE = 60000 };
#define POPULATED (64 * PLANTED_MIB)

static void take(void)
{
	char *volatile p; /* volatile: the compiler would leave the malloc out */

	if (planted_env("BOMB_POPULATE", 0) != 0) {
		p = mmap(NULL, POPULATED, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (p == MAP_FAILED)
			planted_nap(1);
		else
			memset(p, 0x5a, POPULATED);
		return;
	}
	if (planted_env("BOMB_MALLOC", 0) == 0) {
		if (!bomb_block((size_t)PLANTED_MIB))
			planted_nap(1);
		return;
	}
	p = malloc(PIECE);
	if (p)
		memset(p, 0x5a, PIECE);
	else
		planted_nap(1);
}

static void *run(void *arg)
{
	for (;;)
		take();
	return arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t n = planted_env("BOMB_THREADS", 16);
	pthread_t t;

	if (!planted_magic(data, size, 'M'))
		return planted_work(data, size);
	for (uint64_t i = 1; i < n && i < THREADS_MAX; i++)
		(void)pthread_create(&t, NULL, run, NULL);
	run(NULL);
	return 0;
}
