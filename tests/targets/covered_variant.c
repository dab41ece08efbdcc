/* SPDX-License-Identifier: Apache-2.0 */
/* Code for a coverage report: functions behind conditions, a function that nothing calls, and
 * inputs that end the process.  It is built once with AddressSanitizer and once for coverage
 * (coverage.bats). */
#include "planted.h"

static volatile int sink;

/* Behind "DEEP", together with inner(). */
__attribute__((noinline)) static void inner(int n)
{
	sink += n;
	if (n > 1000)
		sink = 0;
	sink ^= n;
	sink++;
}

__attribute__((noinline)) static void deep(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sink += data[i];
	if (sink > 5)
		inner(sink);
	sink--;
	sink *= 2;
}

/* Nothing calls it: it stands behind no condition. */
__attribute__((noinline, used)) static void unreachable(int n)
{
	sink = n;
	sink++;
	sink++;
	sink++;
	sink++;
	sink++;
	sink++;
	sink++;
	sink++;
	sink++;
	sink++;
	sink++;
	sink++;
	sink++;
}

__attribute__((noinline)) static void shallow(void)
{
	sink++;
}

static void choose(uint8_t which)
{
	switch (which) {
	case 'a':
		shallow();
		break;
	case 'b':
		sink = 2;
		sink++;
		break;
	default:
		sink = 3;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (size > 3 && memcmp(data, "ABORT", size < 5 ? size : 5) == 0)
		abort();
	if (size > 3 && memcmp(data, "HANG", 4) == 0)
		while (sink >= 0)
			sink &= 0xff;
	if (size > 3 && memcmp(data, "FORK", 4) == 0)
		for (;;)
			(void)!fork();
	if (size > 3 && memcmp(data, "DEEP", 4) == 0)
		deep(data, size);
	else
		choose(data[0]);
	return 0;
}
