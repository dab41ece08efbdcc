/* SPDX-License-Identifier: Apache-2.0 */
/* Loses memory on every second input, each time in another function, so that suppressing one leak
 * does not suppress the next.
 * Promise: truth.  Its health says that leaks dominate. */
#include "planted.h"

static void *volatile held;
static volatile int calls; /* keeps every caller on the stack */

#define LEAK(n)                                             \
	__attribute__((noinline)) static void leak##n(void) \
	{                                                   \
		held = malloc(16 + (n));                    \
		held = NULL;                                \
		calls++;                                    \
	}
#define LEAKS(n) \
	LEAK(n##0) LEAK(n##1) LEAK(n##2) LEAK(n##3) LEAK(n##4) LEAK(n##5) LEAK(n##6) LEAK(n##7)

LEAKS(1)
LEAKS(2)
LEAKS(3)
LEAKS(4)

#define NAMES(n)                                                                            \
	leak##n##0, leak##n##1, leak##n##2, leak##n##3, leak##n##4, leak##n##5, leak##n##6, \
	    leak##n##7

static void (*const leaks[])(void) = {NAMES(1), NAMES(2), NAMES(3), NAMES(4)};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0 && data[0] & 1)
		leaks[data[0] / 2 % (sizeof(leaks) / sizeof(leaks[0]))]();
	return planted_work(data, size);
}
