/* SPDX-License-Identifier: Apache-2.0 */
/* Stops itself with SIGSTOP on an input that begins with 'S', so it uses no CPU, prints nothing and
 * handles no signal.  The first process of a pid namespace cannot stop itself; it then sleeps with
 * every signal blocked.
 * Promise: time.  Effective time stops, but the deadline stays in force. */
#include "planted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sigset_t all;

	if (!planted_magic(data, size, 'S'))
		return planted_work(data, size);
	dprintf(STDERR_FILENO, "planted: stopself: going to sleep\n");
	(void)raise(SIGSTOP);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	for (;;)
		planted_nap(1000);
}
