/* SPDX-License-Identifier: Apache-2.0 */
/* Twenty bugs, each behind "BUG" and a letter from 'A' to 'T'; the bytes after the letter do not
 * matter.
 * Promise: results.  A thousand inputs end as twenty crashes. */
#include "planted.h"

static volatile int calls; /* keeps every caller on the stack */

#define STAGED(name)                                                                         \
	__attribute__((noinline)) static void name##_stage(const uint8_t *data, size_t size) \
	{                                                                                    \
		name(data, size);                                                            \
		calls++;                                                                     \
	}

#define HEAP_WRITE(name)                                                             \
	__attribute__((noinline)) static void name(const uint8_t *data, size_t size) \
	{                                                                            \
		volatile uint8_t *p = malloc(size);                                  \
                                                                                     \
		for (size_t i = 0; p && i <= size; i++)                              \
			p[i] = data[0];                                              \
		free((void *)p);                                                     \
	}                                                                            \
	STAGED(name)

#define USE_AFTER_FREE(name)                                                         \
	__attribute__((noinline)) static void name(const uint8_t *data, size_t size) \
	{                                                                            \
		volatile uint8_t *p = malloc(size);                                  \
                                                                                     \
		free((void *)p);                                                     \
		calls += p[size / 2] + data[0];                                      \
	}                                                                            \
	STAGED(name)

#define NULL_WRITE(name)                                                             \
	__attribute__((noinline)) static void name(const uint8_t *data, size_t size) \
	{                                                                            \
		volatile uint8_t *volatile p = NULL;                                 \
                                                                                     \
		p[0] = data[size / 2];                                               \
		calls++;                                                             \
	}                                                                            \
	STAGED(name)

#define GIVES_UP(name)                                                               \
	__attribute__((noinline)) static void name(const uint8_t *data, size_t size) \
	{                                                                            \
		if (data[0] == 'B' && size > 0)                                      \
			abort();                                                     \
		calls++;                                                             \
	}                                                                            \
	STAGED(name)

#define DEEP(name)                                                                   \
	__attribute__((noinline)) static void name(const uint8_t *data, size_t size) \
	{                                                                            \
		volatile uint8_t frame[512];                                         \
                                                                                     \
		frame[size % sizeof(frame)] = data[0];                               \
		if (size > 0) /* always, but the compiler does not know */           \
			name(data, size + 1);                                        \
		calls += frame[0];                                                   \
	}                                                                            \
	STAGED(name)

HEAP_WRITE(alpha)
HEAP_WRITE(bravo)
HEAP_WRITE(charlie)
HEAP_WRITE(delta)
USE_AFTER_FREE(echo_)
USE_AFTER_FREE(foxtrot)
USE_AFTER_FREE(golf)
USE_AFTER_FREE(hotel)
NULL_WRITE(india)
NULL_WRITE(juliett)
NULL_WRITE(kilo)
NULL_WRITE(lima)
GIVES_UP(mike)
GIVES_UP(november)
GIVES_UP(oscar)
GIVES_UP(papa)
DEEP(quebec)
DEEP(romeo)
DEEP(sierra)
DEEP(tango)

static void (*const bugs[])(const uint8_t *data, size_t size) = {
    alpha_stage,   bravo_stage,	 charlie_stage, delta_stage,	echo__stage,
    foxtrot_stage, golf_stage,	 hotel_stage,	india_stage,	juliett_stage,
    kilo_stage,	   lima_stage,	 mike_stage,	november_stage, oscar_stage,
    papa_stage,	   quebec_stage, romeo_stage,	sierra_stage,	tango_stage,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 4 || memcmp(data, "BUG", 3) != 0 || data[3] < 'A' || data[3] > 'T')
		return planted_work(data, size);
	bugs[data[3] - 'A'](data, size);
	calls++;
	return 0;
}
