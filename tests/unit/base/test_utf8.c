/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/utf8.h"

#include <stdio.h>

/* The UTF-8 of a code point, by the definition. */
static size_t encode(uint32_t c, char out[4])
{
	static const uint32_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(first[n] | c);
	return n;
}

static void test_every_character(void **state)
{
	(void)state;
	for (uint32_t c = 0; c <= 0x110000; c++) {
		bool is = c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
		uint32_t got = 0;
		char b[4];
		size_t n = encode(c, b);

		assert_int_equal(utf8_next((struct slice){b, n}, &got), is ? n : 0);
		assert_int_equal(got, is ? c : 0);
		assert_int_equal(utf8_next((struct slice){b, n - 1}, &got), 0);
	}
}

static void test_no_character(void **state)
{
	static const char *const t[] = {"\x80",
					"\xbf\x80",
					"\xc0\x80",
					"\xc1\xbf",
					"\xe0\x9f\xbf",
					"\xf0\x8f\xbf\xbf",
					"\xf4\x90\x80\x80",
					"\xf8\x88\x80\x80\x80",
					"\xff",
					"\xc3(",
					"\xe2\x82(",
					"\xf0\x9f\x98("};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint32_t c;

		assert_int_equal(utf8_next(slice_of(t[i]), &c), 0);
	}
}

/* For any bytes the text is plain, and all bytes are read. */
static void test_shown(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		char b[5], shown[UTF8_SHOWN_MAX];
		struct slice s = {b, 1 + (size_t)round % 5};
		size_t n;

		for (size_t i = 0; i < s.n; i++) {
			seed = seed * 1103515245U + 12345U;
			b[i] = (char)(seed >> 16 | (seed >> 8 & 0x80));
		}
		n = utf8_shown(s, shown);
		assert_in_range(n, 1, s.n);
		assert_true(strlen(shown) > 0 && strlen(shown) < UTF8_SHOWN_MAX);
		for (struct slice left = slice_of(shown); left.n > 0;) {
			uint32_t c = 0;
			size_t m = utf8_next(left, &c);

			assert_true(m > 0 && utf8_is_plain(c));
			left = (struct slice){left.p + m, left.n - m};
		}
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_character),
    cmocka_unit_test(test_no_character),
    cmocka_unit_test(test_shown),
};

UNIT_MAIN(tests)
