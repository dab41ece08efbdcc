/* SPDX-License-Identifier: Apache-2.0 */
/* Runs each input in a child, like harnesses that test whole programs.  The child fails on an input
 * that begins with 'F'.  The parent continues, and exits with status 0 when it is stopped.
 * Promise: truth.  A report with its artifact is a failure, whatever the target's status says. */
#include "planted.h"

#include <sys/wait.h>

__attribute__((noinline)) static int used_after_free(const uint8_t *data, size_t size)
{
	volatile uint8_t *copy = malloc(size);

	if (!copy)
		return 0;
	copy[0] = data[0];
	free((void *)copy);
	return copy[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (size > 1 && data[0] == 'F')
			_exit(used_after_free(data, size));
		_exit(0);
	}
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	return planted_work(data, size);
}
