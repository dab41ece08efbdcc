/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to address 16 before its first input.
 * Promise: truth.  No input is the cause.  The job ends as `startup-failed` with the first lines of
 * the report, and restarts are limited. */
#include "planted.h"

static int *volatile nowhere = (int *)16;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	*nowhere = 1;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return planted_work(data, size);
}
