/* SPDX-License-Identifier: Apache-2.0 */
/* Prints false status lines like its engine's.  Their coverage exceeds the program's size and grows
 * without end, as if this were the best target of the fleet.
 * Promise: CPU time.  Impossible numbers are ignored, and gain no CPU time. */
#include "planted.h"

#include <time.h>

/* The false lines outnumber the engine's own lines. */
enum { BOASTS_A_SECOND = 4 };

static void boast(unsigned long n)
{
	static unsigned long cov;

	cov += 1000 + cov / 50;
	(void)dprintf(STDERR_FILENO,
		      "#%lu\tNEW    cov: %lu ft: %lu corp: 5/5b lim: 4 exec/s: 9 rss: 30Mb L: 1/1 "
		      "MS: 1 ChangeBit-\n",
		      n, cov, cov);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned long n;
	static long last;
	struct timespec t;
	long now;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* allow: the target's purpose */
	now = (long)t.tv_sec * BOASTS_A_SECOND + t.tv_nsec / (1000000000 / BOASTS_A_SECOND);
	n++;
	if (now != last)
		boast(n);
	last = now;
	return planted_work(data, size);
}
