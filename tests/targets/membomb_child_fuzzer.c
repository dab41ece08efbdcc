/* SPDX-License-Identifier: Apache-2.0 */
/* A forked child takes the memory, as fast as it can, on an input that begins
 * with 'M'; the parent waits for it.  The engine's watchdog reads the parent's
 * size only, and never sees it.
 * Promise: memory, children included.  The kernel's kill or fuzzcell's forced
 * dump ends the cell, and the end reason says which. */
#include "bomb.h"
#include <sys/prctl.h>
#include <sys/wait.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pid_t child;
	int status = 0;

	if (!planted_magic(data, size, 'M'))
		return planted_work(data, size);
	child = fork();
	if (child < 0) {
		planted_report("fork", errno);
		return 0;
	}
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* leaves no process outside a cell */
		for (;;)
			if (!bomb_block((size_t)PLANTED_MIB))
				planted_nap(1);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == PLANTED_CAP_EXIT)
		_exit(PLANTED_CAP_EXIT);
	return 0;
}
