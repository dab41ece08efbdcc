/* SPDX-License-Identifier: Apache-2.0 */
/* Spends 0.6 s of CPU time on an input that begins with 'S'.
 * Promise: truth.  With a timeout of 1 s this is no timeout, even under CPU pressure. */
#include "planted.h"

#include <time.h>

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	double until = cpu_s() + 0.6;

	if (planted_magic(data, size, 'S'))
		while (cpu_s() < until)
			;
	return planted_work(data, size);
}
