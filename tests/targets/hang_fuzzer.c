/* SPDX-License-Identifier: Apache-2.0 */
/* After HANG_AFTER inputs (default 2000) ignores and blocks every signal that
 * can be ignored or blocked, then spins for ever: no alarm of the engine, no
 * SIGINT, SIGTERM or SIGXCPU reaches any of its threads.
 * Promise: time.  The cell is gone within its grace after its deadline, and
 * its processes with it. */
#include "planted.h"

static void deaf(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t all;

	for (int s = 1; s < NSIG; s++)
		(void)sigaction(s, &ignore, NULL); /* allow: what this target is for */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t inputs;
	volatile uint64_t turns = 0;

	if (++inputs < planted_env("HANG_AFTER", 2000))
		return planted_work(data, size);
	deaf();
	dprintf(STDERR_FILENO, "planted: hang: deaf and spinning\n");
	for (;;)
		turns++;
}
