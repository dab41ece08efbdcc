/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/escape.h"

static void test_texts(void **state)
{
	static const struct {
		const char *in, *want;
	} t[] = {
	    {"", ""},
	    {"plain text, \"quoted\" \\ and ~", "plain text, \"quoted\" \\ and ~"},
	    {"a\nb\tc\r", "a\\x0ab\\x09c\\x0d"},
	    {"\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"},
	    {"\x01\x1f\x7f", "\\x01\\x1f\\x7f"},
	    {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"}, /* letters of other languages stay */
	    /* U+009B equals the escape character and '[', also in UTF-8. */
	    {"\xc2\x9b"
	     "2J",
	     "\\u009b2J"},
	    {"\xc2\x80\xc2\x9f\xc2\xa0", "\\u0080\\u009f\xc2\xa0"},
	    /* Invalid UTF-8: control bytes of some terminals. */
	    {"\x9b"
	     "2J\xff\xc2",
	     "\\x9b2J\\xff\\xc2"},
	    {"\xed\xa0\x80\xc0\x80", "\\xed\\xa0\\x80\\xc0\\x80"},
	    /* Right-to-left marks and invisible characters. */
	    {"a\xe2\x80\xae"
	     "b\xe2\x80\x8b\xf3\xa0\x80\x81",
	     "a\\u202eb\\u200b\\U000e0001"},
	};
	char out[ESCAPE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_ptr_equal(escape(t[i].in, out), out);
		assert_string_equal(out, t[i].want);
	}
}

/* Multi-byte characters are not cut in two. */
static void test_whole(void **state)
{
	static char in[2 * ESCAPE_MAX];
	char out[ESCAPE_MAX];

	(void)state;
	for (size_t before = 0; before < 4; before++) {
		size_t n;

		memset(in, 'a', before);
		for (size_t i = before; i + 3 < sizeof(in); i += 3)
			memcpy(in + i, "\xe2\x82\xac", 4);
		n = strlen(escape(in, out));
		assert_in_range(n, ESCAPE_MAX - 3, ESCAPE_MAX - 1);
		assert_int_equal((n - before) % 3, 0);
	}
}

/* The text is cut to any size, but never in the middle of an escape. */
static void test_long(void **state)
{
	static char in[3 * ESCAPE_MAX];
	char out[ESCAPE_MAX + 1];

	(void)state;
	for (size_t plain = ESCAPE_MAX - 12; plain < ESCAPE_MAX + 4; plain++) {
		size_t n;

		memset(in, 'a', plain);
		memset(in + plain, '\x1b', sizeof(in) - plain - 1);
		out[ESCAPE_MAX] = 'G';
		escape(in, out);
		n = strlen(out);
		assert_in_range(n, ESCAPE_MAX - 9, ESCAPE_MAX - 1);
		assert_int_equal(out[ESCAPE_MAX], 'G');
		assert_null(strchr(out, '\x1b'));
		if (n > plain) {
			assert_int_equal((n - plain) % 4, 0);
			assert_string_equal(out + n - 4, "\\x1b");
		}
	}
}

static void test_ascii(void **state)
{
	char out[ESCAPE_ASCII_MAX], in[ESCAPE_ASCII_MAX];

	(void)state;
	assert_string_equal(escape_ascii(SLICE("a \"~"), out), "a \"~");
	assert_string_equal(escape_ascii(SLICE("\x1b[2J\\\xff\x7f\0x"), out),
			    "\\x1b[2J\\x5c\\xff\\x7f\\x00x");
	memset(in, 0x01, sizeof(in));
	escape_ascii((struct slice){in, sizeof(in)}, out);
	assert_true(strlen(out) < sizeof(out));
	assert_string_equal(out + strlen(out) - 3, "...");
	memset(in, 'x', sizeof(in));
	assert_int_equal(strlen(escape_ascii((struct slice){in, 504}, out)), 504);
	assert_string_equal(out + 500, "xxxx");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_texts),
    cmocka_unit_test(test_whole),
    cmocka_unit_test(test_long),
    cmocka_unit_test(test_ascii),
};

UNIT_MAIN(tests)
