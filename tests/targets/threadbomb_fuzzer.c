/* SPDX-License-Identifier: Apache-2.0 */
/* Starts threads until the kernel refuses, on an input that begins with 'T'; each thread sleeps
 * forever.  Then it continues fuzzing.  Cap: THREAD_MAX (default 400) threads.
 * Promise: processes.  pids.max counts threads as well. */
#include "planted.h"
#include <pthread.h>

static void *idle(void *arg)
{
	for (;;)
		planted_nap(1000);
	return arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t threads;
	static bool told;
	pthread_attr_t small;
	pthread_t t;
	int r = 0;

	if (told || !planted_magic(data, size, 'T'))
		return planted_work(data, size);
	(void)pthread_attr_init(&small);
	(void)pthread_attr_setstacksize(&small, 64 * 1024);
	while (r == 0 && threads < planted_env("THREAD_MAX", 400)) {
		r = pthread_create(&t, &small, idle, NULL);
		threads += r == 0;
	}
	if (r == 0)
		planted_cap("thread bomb");
	dprintf(STDERR_FILENO, "planted: threads: %llu\n", (unsigned long long)threads);
	planted_report("pthread_create", r);
	told = true;
	(void)pthread_attr_destroy(&small);
	return 0;
}
