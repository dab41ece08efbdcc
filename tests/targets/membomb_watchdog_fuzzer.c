/* SPDX-License-Identifier: Apache-2.0 */
/* Takes memory as fast as it can, on an input that begins with 'M', when the engine's watchdog has
 * started its report without output so far.  Then no other thread's handler writes the input.  (The
 * watchdog reads the peak twice: for its check, and for the first line of its report.  In between
 * it takes the right to report.) Promise: the input that used up the memory is saved. */
#include "bomb.h"
#include <poll.h>
#include <sys/resource.h>

enum { OFF, SET, REPORTING, GOES_OFF };
static _Atomic int bomb;

/* Replaces the C library's function. */
int getrusage(int who, struct rusage *r)
{
	*r = (struct rusage){.ru_maxrss = 40 << 10}; /* KiB */
	if (who != RUSAGE_SELF || bomb == OFF)
		return 0;
	r->ru_maxrss = 8 << 20;
	if (bomb == SET)
		bomb = REPORTING;
	else if (bomb == REPORTING) {
		bomb = GOES_OFF;
		(void)poll(NULL, 0, 3000); /* the cell reaches its mark meanwhile */
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!planted_magic(data, size, 'M'))
		return planted_work(data, size);
	bomb = SET;
	while (bomb != GOES_OFF)
		planted_nap(1);
	for (;;)
		if (!bomb_block((size_t)PLANTED_MIB))
			planted_nap(1);
}
