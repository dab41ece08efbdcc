/* SPDX-License-Identifier: Apache-2.0 */
/* Uses 20 ms of CPU time for every input, like a harness with an expensive setup for each input.
 * Promise: truth.  Its health says that it is slow. */
#include "planted.h"

#include <time.h>

static double cpu_s(void)
{
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	double until = cpu_s() + 0.02;

	while (cpu_s() < until)
		;
	return planted_work(data, size);
}
