/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/measure/bits.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { BITS = 64, WORDS_MIN = 64 };

/* The room doubles, so that adding ascending numbers does not copy the set each time. */
static void bits_make_room(struct bits *b, size_t words)
{
	size_t room = b->words ? b->words : WORDS_MIN;

	if (words <= b->words)
		return;
	while (room < words)
		room *= 2;
	b->word = xreallocarray(b->word, room, sizeof(*b->word));
	memset(b->word + b->words, 0, (room - b->words) * sizeof(*b->word));
	b->words = room;
}

bool bits_has(const struct bits *b, uint32_t n)
{
	size_t at = n / BITS;

	return at < b->words && (b->word[at] >> n % BITS & 1) != 0;
}

int bits_add(struct bits *b, uint32_t n)
{
	if (bits_has(b, n))
		return 0;
	bits_make_room(b, (size_t)n / BITS + 1);
	b->word[n / BITS] |= UINT64_C(1) << n % BITS;
	b->count++;
	return 1;
}

int bits_remove(struct bits *b, uint32_t n)
{
	if (!bits_has(b, n))
		return 0;
	b->word[n / BITS] &= ~(UINT64_C(1) << n % BITS);
	b->count--;
	return 1;
}

void bits_remove_all(struct bits *b, const struct bits *less)
{
	for (size_t i = 0; i < b->words && i < less->words; i++) {
		uint64_t gone = b->word[i] & less->word[i];

		b->word[i] &= ~gone;
		b->count -= (uint64_t)__builtin_popcountll(gone);
	}
}

void bits_add_all(struct bits *b, const struct bits *more)
{
	bits_make_room(b, more->words);
	for (size_t i = 0; i < more->words; i++) {
		uint64_t fresh = more->word[i] & ~b->word[i];

		b->word[i] |= fresh;
		b->count += (uint64_t)__builtin_popcountll(fresh);
	}
}

uint64_t bits_missing(const struct bits *a, const struct bits *b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < a->words; i++) {
		uint64_t has = i < b->words ? b->word[i] : 0;

		n += (uint64_t)__builtin_popcountll(a->word[i] & ~has);
	}
	return n;
}

void bits_done(struct bits *b)
{
	free(b->word);
	*b = (struct bits){0};
}
