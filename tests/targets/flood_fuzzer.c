/* SPDX-License-Identifier: Apache-2.0 */
/* Writes FLOOD_BYTES (default 1 GiB) to stderr, 4 MiB an input, as fast as it
 * can: ordinary lines, one line of 3 MiB, NUL bytes, escape sequences, bytes
 * that are no UTF-8.  Then it continues fuzzing normally.
 * Promise: output.  Bounded memory and log space, a count of what was dropped,
 * and the statistics that come after it are still read. */
#include "planted.h"

#define BLOCK	  (4u << 20)
#define LONG_LINE (3u << 20)

static char *block_new(void)
{
	static const char noise[] = "line of noise \x1b[31mred\x1b[0m \x1b]0;title\x07 \0 \xff\xfe "
				    "\xc3\x28 \b\b\b \r overwritten %s%n\n";
	char *b = malloc(BLOCK);

	if (!b)
		abort();
	for (size_t i = 0; i < BLOCK; i++)
		b[i] = i < LONG_LINE ? 'x' : noise[i % (sizeof(noise) - 1)];
	b[BLOCK - 1] = '\n';
	return b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t written;
	static char *block;
	uint64_t total = planted_env("FLOOD_BYTES", PLANTED_GIB);
	size_t done = 0;

	if (written >= total || size == 0)
		return planted_work(data, size);
	if (!block)
		block = block_new();
	while (done < BLOCK) {
		ssize_t n = write(STDERR_FILENO, block + done, BLOCK - done);

		if (n > 0)
			done += (size_t)n;
		else if (errno != EINTR && errno != EAGAIN)
			break;
	}
	written += BLOCK;
	if (written >= total)
		dprintf(STDERR_FILENO, "planted: flood: %llu bytes written\n",
			(unsigned long long)written);
	return 0;
}
