/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps as many MiB as PLANTED_MIB says, all the time, and needs no more.
 * Promise: truth.  Its health says that it is near its limit. */
#include "planted.h"

static void *volatile kept;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	size_t bytes = (size_t)(planted_env("PLANTED_MIB", 1) * PLANTED_MIB);
	void *p = malloc(bytes);

	(void)argc;
	(void)argv;
	if (!p)
		_exit(PLANTED_CAP_EXIT);
	memset(p, 0x5a, bytes);
	kept = p;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return planted_work(data, size);
}
