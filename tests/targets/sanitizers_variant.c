/* SPDX-License-Identifier: Apache-2.0 */
/* Bugs behind a first word.  Most are seen by one sanitizer, and the others pass.  It is built once
 * a sanitizer (variants.bats). */
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

static struct {
	int first[8];
	int second[8];
} pair;

/* Two sanitizers see this: UndefinedBehaviorSanitizer from 8 on, AddressSanitizer from 16 on. */
__attribute__((noinline)) static void read_index(size_t i)
{
	sink = ((volatile int *)pair.second)[0] + pair.first[i];
}

/* Two bugs of one input: UndefinedBehaviorSanitizer stops at the first, AddressSanitizer passes it.
 */
__attribute__((noinline)) static void overflow_and_read(size_t n)
{
	overflow((int)n);
	read_behind(n);
}

/* A word that fuzzing does not find: the engine sees comparisons with hashes alone. */
static uint64_t hash_word(const char *word)
{
	uint64_t h;

	memcpy(&h, word, sizeof(h));
	h ^= h >> 29;
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return h ^ (h >> 32);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char index[] = "an index", two[] = "two bugs";

	if (size > 1 && data[0] == 'A' && data[1] == 'A')
		read_behind(size);
	else if (size > 1 && data[0] == 'U' && data[1] == 'U')
		overflow((int)size);
	else if (size > 1 && data[0] == 'M' && data[1] == 'M')
		use_unwritten(size);
	else if (size >= 8 && size < 24 && hash_word((const char *)data) == hash_word(index))
		read_index(size);
	else if (size >= 8 && hash_word((const char *)data) == hash_word(two))
		overflow_and_read(size);
	return 0;
}
