/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/scan.h"

static const struct slice nothing = {NULL, 0};

/* A value that a failed scanner must not change. */
#define UNTOUCHED(in, text)                             \
	do {                                            \
		assert_ptr_equal((in).p, text);         \
		assert_int_equal((in).n, strlen(text)); \
	} while (0)

static void test_eq(void **state)
{
	(void)state;
	assert_true(slice_eq(nothing, SLICE("")));
	assert_true(slice_eq(SLICE("a\0b"), (struct slice){"a\0b", 3}));
	assert_false(slice_eq(SLICE("ab"), SLICE("abc")));
	assert_false(slice_eq(SLICE("a\0b"), SLICE("a\0c")));
	assert_true(slice_eq(slice_of("ab"), SLICE("ab")));
}

static void test_lit(void **state)
{
	static const struct {
		const char *in, *lit, *rest; /* rest NULL: no match */
	} t[] = {
	    {"abc", "ab", "c"}, {"abc", "abc", ""}, {"abc", "", "abc"}, {"ab", "abc", NULL},
	    {"abc", "b", NULL}, {"", "a", NULL},    {"", "", ""},
	};
	struct slice in = nothing;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct slice s = slice_of(t[i].in);

		assert_int_equal(scan_lit(&s, slice_of(t[i].lit)), t[i].rest != NULL);
		if (t[i].rest)
			assert_true(slice_eq(s, slice_of(t[i].rest)));
		else
			UNTOUCHED(s, t[i].in);
	}
	assert_true(scan_lit(&in, SLICE("")));
	assert_false(scan_lit(&in, SLICE("a")));
}

static void test_until(void **state)
{
	static const struct {
		const char *in;
		size_t max;
		const char *out; /* NULL: no match */
	} t[] = {
	    {"key=v", 3, "key"}, {"key=v", 2, NULL},  {"key=v", SIZE_MAX, "key"}, {"key", 9, NULL},
	    {"=v", 9, NULL},	 {"", 9, NULL},	      {"key=", 3, "key"},	  {"k=", 1, "k"},
	    {"k=", 0, NULL},	 {"a=b=c", 100, "a"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct slice s = slice_of(t[i].in), out = SLICE("unset");

		assert_int_equal(scan_until(&s, '=', t[i].max, &out), t[i].out != NULL);
		if (t[i].out) {
			assert_true(slice_eq(out, slice_of(t[i].out)));
			assert_int_equal(*s.p, '='); /* the stop stays */
		} else {
			UNTOUCHED(s, t[i].in);
			assert_true(slice_eq(out, SLICE("unset")));
		}
	}
}

static void test_u64(void **state)
{
	static const struct {
		const char *in;
		unsigned base;
		uint64_t max;
		bool ok;
		uint64_t out;
		const char *rest;
	} t[] = {
	    {"0", 10, 0, true, 0, ""},
	    {"42x", 10, 42, true, 42, "x"},
	    {"43", 10, 42, false, 0, NULL},
	    {"007", 10, 7, true, 7, ""},
	    {"18446744073709551615", 10, UINT64_MAX, true, UINT64_MAX, ""},
	    {"18446744073709551616", 10, UINT64_MAX, false, 0, NULL},
	    {"99999999999999999999999", 10, UINT64_MAX, false, 0, NULL},
	    {"ffffffffffffffff", 16, UINT64_MAX, true, UINT64_MAX, ""},
	    {"10000000000000000", 16, UINT64_MAX, false, 0, NULL},
	    {"1f g", 16, 31, true, 31, " g"},
	    {"9", 8, UINT64_MAX, false, 0, NULL},
	    {"1f", 10, UINT64_MAX, true, 1, "f"},
	    {"", 10, UINT64_MAX, false, 0, NULL},
	    {"-1", 10, UINT64_MAX, false, 0, NULL},
	    {"+1", 10, UINT64_MAX, false, 0, NULL},
	    {" 1", 10, UINT64_MAX, false, 0, NULL},
	    {"x", 10, UINT64_MAX, false, 0, NULL},
	    {"5", 10, 3, false, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct slice s = slice_of(t[i].in);
		uint64_t v = 12345;

		assert_int_equal(scan_u64(&s, t[i].base, t[i].max, &v), t[i].ok);
		assert_int_equal(v, t[i].ok ? t[i].out : 12345);
		if (t[i].ok)
			assert_true(slice_eq(s, slice_of(t[i].rest)));
		else
			UNTOUCHED(s, t[i].in);
	}
}

static void test_line(void **state)
{
	struct slice s = SLICE("one\n\ntwo\0x\nlast"), out;

	(void)state;
	assert_true(scan_line(&s, &out) && slice_eq(out, SLICE("one")));
	assert_true(scan_line(&s, &out) && slice_eq(out, SLICE("")));
	assert_true(scan_line(&s, &out) && slice_eq(out, SLICE("two\0x")));
	assert_true(scan_line(&s, &out) && slice_eq(out, SLICE("last")));
	assert_false(scan_line(&s, &out));
	assert_true(slice_eq(out, SLICE("last")));
	s = nothing;
	assert_false(scan_line(&s, &out));
}

static void test_blanks(void **state)
{
	struct slice s = SLICE(" \t \nx"), none = nothing;

	(void)state;
	scan_blanks(&s);
	assert_true(slice_eq(s, SLICE("\nx")));
	scan_blanks(&none);
	assert_int_equal(none.n, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_eq),	cmocka_unit_test(test_lit),  cmocka_unit_test(test_until),
    cmocka_unit_test(test_u64), cmocka_unit_test(test_line), cmocka_unit_test(test_blanks),
};

UNIT_MAIN(tests)
