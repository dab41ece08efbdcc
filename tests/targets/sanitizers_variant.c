/* SPDX-License-Identifier: Apache-2.0 */
/* Bugs behind a first word.  Most are seen by one sanitizer, and the others pass.  It is built once
 * a sanitizer (variants.bats). */
#include "planted.h"
#include <sys/syscall.h>

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

/* Only the build with MemorySanitizer breaks the limits of its cell: failures of a check variant.
 */
__attribute__((noinline)) static void refused_call(void)
{
#if __has_feature(memory_sanitizer)
	sink = (int)syscall(SYS_bpf, 0, NULL, 0);
#endif
}

__attribute__((noinline)) static void leave_processes(void)
{
#if __has_feature(memory_sanitizer)
	for (int i = 0; i < 5000; i++) {
		pid_t pid = fork();

		if (pid < 0)
			_exit(1);
		if (pid == 0) {
			(void)pause();
			_exit(0);
		}
	}
#endif
}

/* 50 ms of CPU time. */
__attribute__((noinline)) static void work(void)
{
#if __has_feature(memory_sanitizer)
	struct timespec t;
	int64_t ms, end = 0;

	do {
		(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		ms = t.tv_sec * 1000 + t.tv_nsec / 1000000;
		end = end ? end : ms + 50;
	} while (ms < end);
#endif
}

/* Two seconds, and no CPU time. */
__attribute__((noinline)) static void rest(void)
{
#if __has_feature(memory_sanitizer)
	(void)sleep(2);
#endif
}

/* Fails when two such inputs run in one process. */
__attribute__((noinline)) static void second_time(void)
{
	static int times;
	volatile char *p = malloc(9);

	if (p && ++times == 2 && p[4] == 'x')
		sink = 1;
	free((void *)p);
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
	static const struct {
		char word[9];
		void (*act)(void);
	} acts[] = {{"syscalls", refused_call},
		    {"too many", leave_processes},
		    {"a while.", work},
		    {"sleeping", rest},
		    {"together", second_time}};
	static const char index[] = "an index", two[] = "two bugs";

	for (size_t i = 0; size >= 8 && i < sizeof(acts) / sizeof(acts[0]); i++)
		if (hash_word((const char *)data) == hash_word(acts[i].word))
			acts[i].act();
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
