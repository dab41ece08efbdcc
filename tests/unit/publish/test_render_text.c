/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/utf8.h"
#include "runner/publish/render/render.h"

static void check(const struct buf *got, const char *want)
{
	assert_false(got->full);
	assert_string_equal(buf_str(got), want);
}

static void test_words(void **state)
{
	static const struct {
		const char *text, *want;
	} t[] = {{"a-b/c.d", "a-b/c.d"}, {"", "''"},	     {"-x", "'-x'"},  {"a b", "'a b'"},
		 {"a'b", "'a'\\''b'"},	 {"$(x)", "'$(x)'"}, {"a;b", "'a;b'"}};
	_autobuf_ struct buf b = BUF_INIT(100);

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		buf_clear(&b);
		render_word(t[i].text, &b);
		check(&b, t[i].want);
	}
}

/* RFC 4648, section 10; and its lines. */
static void test_base64(void **state)
{
	static const char *const t[][2] = {
	    {"", ""},	       {"f", "Zg==\n"},	       {"fo", "Zm8=\n"},
	    {"foo", "Zm9v\n"}, {"foob", "Zm9vYg==\n"}, {"foobar", "Zm9vYmFy\n"}};
	_autobuf_ struct buf b = BUF_INIT(1000);
	char a[58];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		buf_clear(&b);
		render_base64(slice_of(t[i][0]), &b);
		check(&b, t[i][1]);
	}
	memset(a, 0, sizeof(a));
	buf_clear(&b);
	render_base64((struct slice){a, 57}, &b);
	assert_int_equal(b.n, 77);
	buf_clear(&b);
	render_base64((struct slice){a, 58}, &b);
	assert_int_equal(b.n, 77 + 5);
}

static void test_utf8(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		uint32_t c;
	} t[] = {
	    {"a", 1, 'a'},
	    {"\xc3\xa4", 2, 0xe4},
	    {"\xe2\x82\xac", 3, 0x20ac},
	    {"\xf0\x9f\x98\x80", 4, 0x1f600},
	    {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
	    {"\x80", 0, 0},
	    {"\xc0\x80", 0, 0},
	    {"\xc3", 0, 0},
	    {"\xe0\x80\x80", 0, 0},
	    {"\xed\xa0\x80", 0, 0},
	    {"\xf4\x90\x80\x80", 0, 0},
	    {"\xf8\x88\x80\x80\x80", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint32_t c = 0;

		assert_int_equal(utf8_next(slice_of(t[i].text), &c), t[i].n);
		assert_int_equal(c, t[i].c);
	}
	assert_int_equal(render_cut(SLICE("a\xe2\x82\xac"), 3).n, 1);
	assert_int_equal(render_cut(SLICE("a\xe2\x82\xac"), 4).n, 4);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_words),
    cmocka_unit_test(test_base64),
    cmocka_unit_test(test_utf8),
};

UNIT_MAIN(tests)
