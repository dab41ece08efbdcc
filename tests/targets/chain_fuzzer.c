/* SPDX-License-Identifier: Apache-2.0 */
/* Two kinds of undefined behaviour and then a write beyond a block, built with recovery: each
 * failing input hits the first bug, and most hit the second.
 * Promise: results.  Each of the three is a separate crash. */
#include "planted.h"

static volatile int chain_int = INT32_MAX, chain_bits = 40;

__attribute__((noinline)) static void chain_first(int by)
{
	chain_int = chain_int + by;
	chain_int = INT32_MAX;
}

__attribute__((noinline)) static int chain_second(int by)
{
	return by << chain_bits;
}

__attribute__((noinline)) static void chain_third(uint8_t by)
{
	volatile uint8_t *p = malloc(4);

	if (p)
		p[4] = by;
	free((void *)p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3 || data[0] != 'C')
		return 0;
	chain_first(1 + data[1]);
	if (data[1] != 'H')
		return 0;
	if (chain_second(data[2]) == 0x12345)
		return -1;
	if (data[2] == 'A')
		chain_third(data[2]);
	return 0;
}
