/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/crash/report/words.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
	enum words_bit bit;
	const char *text;
} all[] = {
#define WORD(bit, text) {WORDS_##bit, text},
#include "runner/crash/report/words.inc"
#undef WORD
};

enum { ALL = sizeof(all) / sizeof(all[0]) };

/* The simplest, slowest implementation. */
static uint64_t plainly(struct slice line)
{
	uint64_t bits = 0;
	char *lower = malloc(line.n + 1);

	assert_non_null(lower);
	for (size_t i = 0; i < line.n; i++)
		lower[i] =
		    (char)(line.p[i] >= 'A' && line.p[i] <= 'Z' ? line.p[i] + 32 : line.p[i]);
	for (size_t i = 0; i < ALL; i++)
		if (line.n && memmem(lower, line.n, all[i].text, strlen(all[i].text)))
			bits |= UINT64_C(1) << all[i].bit;
	free(lower);
	return bits;
}

static void same(const struct words *w, const char *p, size_t n)
{
	struct slice line = {p, n};

	if (words_in(w, line) != plainly(line))
		fail_msg("other words in '%.*s'", (int)n, p);
}

static void finds_each_word_alone_and_in_others(void **state)
{
	static struct words w;
	char line[512];

	(void)state;
	words_init(&w);
	for (size_t i = 0; i < ALL; i++) {
		same(&w, all[i].text, strlen(all[i].text));
		same(&w, all[i].text, strlen(all[i].text) - 1);
		for (size_t k = 0; k < ALL; k++) {
			int n = snprintf(line, sizeof(line), "%.*s%s%s", (int)(i % 20), all[i].text,
					 all[k].text, all[i].text + 1);

			same(&w, line, (size_t)n);
		}
	}
	assert_true(words_has(words_in(&w, SLICE("x AddressSANITIZER: y")), WORDS_SANITIZER));
	assert_int_equal(words_in(&w, SLICE("nothing of interest")), 0);
	assert_int_equal(words_in(&w, (struct slice){NULL, 0}), 0);
}

/* Pieces of words in any order. */
static void agrees_with_a_plain_search(void **state)
{
	static struct words w;
	unsigned seed = 1;
	char line[400];

	(void)state;
	words_init(&w);
	for (unsigned round = 0; round < 20000; round++) {
		size_t n = 0;

		while (n < 200) {
			const char *text = all[(seed >> 8) % ALL].text;
			size_t len = strlen(text), from, take;

			seed = seed * 1664525U + 1013904223U;
			from = (seed >> 8) % 3 ? 0 : (seed >> 10) % len;
			take = (seed >> 20) % 2 ? len - from : (seed >> 21) % (len - from + 1);
			memcpy(line + n, text + from, take);
			n += take;
		}
		same(&w, line, n);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(finds_each_word_alone_and_in_others),
    cmocka_unit_test(agrees_with_a_plain_search),
};

UNIT_MAIN(tests)
