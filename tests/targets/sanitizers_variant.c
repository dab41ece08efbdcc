/* SPDX-License-Identifier: Apache-2.0 */
/* Bugs that one sanitizer sees and the others pass, each behind a first byte.  It is built once a
 * sanitizer (variants.bats). */
#include "planted.h"

static volatile int sink;

/* AddressSanitizer: one byte behind a heap block.  The value decides nothing, so MemorySanitizer
 * has nothing to report. */
__attribute__((noinline)) static void read_behind(size_t n)
{
	char *p = malloc(n);

	if (!p)
		return;
	memset(p, 1, n);
	sink = ((volatile char *)p)[n];
	free(p);
}

/* UndefinedBehaviorSanitizer. */
__attribute__((noinline)) static void overflow(int n)
{
	volatile int most = INT32_MAX;

	sink = most + n;
}

/* MemorySanitizer: a branch on a value that was never written. */
__attribute__((noinline)) static void use_unwritten(size_t n)
{
	volatile char *p = malloc(n);

	if (!p)
		return;
	if (p[n / 2] == 'x')
		sink = 1;
	free((void *)p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1 && data[0] == 'A' && data[1] == 'A')
		read_behind(size);
	else if (size > 1 && data[0] == 'U' && data[1] == 'U')
		overflow((int)size);
	else if (size > 1 && data[0] == 'M' && data[1] == 'M')
		use_unwritten(size);
	return 0;
}
