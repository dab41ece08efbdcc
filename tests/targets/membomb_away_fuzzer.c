/* SPDX-License-Identifier: Apache-2.0 */
/* Takes memory as fast as it can while the engine's thread cannot take a signal, on an input that
 * begins with 'M'.  BOMB_AWAY=1 (default): it waits for a child of vfork(2), which takes the
 * memory; BOMB_AWAY=2: it has ended, and another thread takes the memory.  BOMB_NAP is the pause
 * after each MiB in ms (default 0): the engine's watchdog sees a slow bomb first.
 * Promise: the input that used up the memory is saved, although no handler in that thread can do
 * it. */
#include "bomb.h"
#include <pthread.h>
#include <sched.h>

static _Noreturn void take(void)
{
	long nap = (long)planted_env("BOMB_NAP", 0);

	for (;;) {
		bool taken = bomb_block((size_t)PLANTED_MIB);

		if (nap > 0 || !taken)
			planted_nap(nap > 0 ? nap : 1);
	}
}

static void *run(void *arg)
{
	(void)arg;
	take();
}

static int child(void *arg)
{
	(void)arg;
	take();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char stack[1 << 16] __attribute__((aligned(64)));
	pthread_t t;

	if (!planted_magic(data, size, 'M'))
		return planted_work(data, size);
	if (planted_env("BOMB_AWAY", 1) == 1) {
		(void)clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
		return 0;
	}
	if (pthread_create(&t, NULL, run, NULL) == 0)
		pthread_exit(NULL);
	return 0;
}
