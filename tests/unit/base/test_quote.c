/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/quote.h"

static void escapes_are_read(void **state)
{
	static const struct {
		const char *in, *want;
		size_t n;
	} t[] = {
	    {"\"\"", "", 0},
	    {"\"ab\"", "ab", 2},
	    {"\"a\\\\\\\"b\"", "a\\\"b", 4},
	    {"\"\\x00\\xfF\"", "\0\xff", 2},
	    {"\"\\000\\377z\"", "\0\377z", 3},
	    {"\"ab\"-\"c\"", "ab", 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct slice in = slice_of(t[i].in);
		char out[8];
		size_t n;

		assert_true(quote_read(&in, out, sizeof(out), &n));
		assert_int_equal(n, t[i].n);
		assert_memory_equal(out, t[i].want, n);
	}
}

static void other_text_is_refused(void **state)
{
	static const char *const t[] = {
	    "",	       "a",	    "\"",	"\"a",	  "\"\\\"",   "\"\\x1\"",  "\"\\x\"",
	    "\"\\n\"", "\"\\400\"", "\"\\08\"", "\"\t\"", "\"\xff\"", "\"12345\"", " \"a\""};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct slice in = slice_of(t[i]);
		char out[4];
		size_t n;

		if (quote_read(&in, out, sizeof(out), &n) || in.p != t[i])
			fail_msg("%zu: %s", i, t[i]);
	}
}

/* Every byte can be read back, and the text has only printable bytes. */
static void what_is_written_is_read(void **state)
{
	_autobuf_ struct buf text = BUF_INIT(4096);
	char bytes[256], out[256];
	struct slice in;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	quote_add(&text, (struct slice){bytes, sizeof(bytes)});
	for (size_t i = 0; i < text.n; i++)
		assert_true(text.p[i] >= ' ' && text.p[i] <= '~');
	in = buf_slice(&text);
	assert_true(quote_read(&in, out, sizeof(out), &n));
	assert_int_equal(n, sizeof(bytes));
	assert_memory_equal(out, bytes, n);
	assert_int_equal(in.n, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(escapes_are_read),
    cmocka_unit_test(other_text_is_refused),
    cmocka_unit_test(what_is_written_is_read),
};

UNIT_MAIN(tests)
