/* SPDX-License-Identifier: Apache-2.0 */
/* Two bytes of length, and exactly that many bytes of content: when content is removed, the length
 * must change, too.  A content of 16 bytes or more with "BUG" in it is one bug; every shorter
 * content that begins with 'B' is another. Promise: the reproducer gets small, and still has the
 * same bug. */
#include "planted.h"

__attribute__((noinline)) static uint8_t read_long(size_t n)
{
	volatile uint8_t *p = malloc(4);
	uint8_t c = p[4 + n % 4];

	free((void *)p);
	return c;
}

__attribute__((noinline)) static void write_short(size_t n)
{
	volatile uint8_t *p = malloc(4);

	p[4 + n % 4] = 1;
	free((void *)p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size >= 2 ? (size_t)data[0] << 8 | data[1] : 0;

	if (size < 2 || n != size - 2 || n == 0)
		return 0;
	if (n >= 16 && memmem(data + 2, n, "BUG", 3))
		return read_long(n) & 0;
	if (n < 16 && data[2] == 'B')
		write_short(n);
	return 0;
}
