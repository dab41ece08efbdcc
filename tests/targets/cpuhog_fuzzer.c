/* SPDX-License-Identifier: Apache-2.0 */
/* Four threads that spin from the first input on; fuzzing goes on beside them.
 * Promise: CPU.  The cell gets at most its CPUs, and its share under
 * contention, however many threads want more. */
#include "planted.h"
#include <pthread.h>

#define HOGS 4

static void *spin(void *arg)
{
	volatile uint64_t turns = 0;

	for (;;)
		turns++;
	return arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool started;
	pthread_t t;

	for (int i = 0; !started && i < HOGS; i++) {
		int r = pthread_create(&t, NULL, spin, NULL);

		if (r != 0)
			planted_report("pthread_create", r);
	}
	started = true;
	return planted_work(data, size);
}
