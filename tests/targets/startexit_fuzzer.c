/* SPDX-License-Identifier: Apache-2.0 */
/* Exits with status 3 before its first input, after one line.
 * Promise: truth.  The job ends as `startup-failed`, with that line. */
#include "planted.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	dprintf(STDERR_FILENO, "planted: cannot find my configuration, giving up\n");
	_exit(3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return planted_work(data, size);
}
