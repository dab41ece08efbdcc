/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/units.h"

#define KIB UINT64_C(1024)
#define SEC UINT64_C(1000000)

static void test_parse_size(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t bytes;
	} t[] = {
	    {"0", true, 0},
	    {"1024", true, 1024},
	    {"7B", true, 7},
	    {"64KiB", true, 64 * KIB},
	    {"256MiB", true, 256 * KIB * KIB},
	    {"256 MiB", true, 256 * KIB * KIB},
	    {"2GiB", true, 2 * KIB * KIB * KIB},
	    {"3TiB", true, 3 * KIB * KIB * KIB * KIB},
	    {"18446744073709551615", true, UINT64_MAX},
	    {"16777215TiB", true, UINT64_C(16777215) << 40},
	    {"16777216TiB", false, 0}, /* 2^64 */
	    {"18446744073709551616", false, 0},
	    {"", false, 0},
	    {" 1", false, 0},
	    {"1 ", false, 0},
	    {"1KiB ", false, 0},
	    {"1kB", false, 0},
	    {"1K", false, 0},
	    {"1Ki", false, 0},
	    {"1kib", false, 0},
	    {"1.5GiB", false, 0},
	    {"-1", false, 0},
	    {"KiB", false, 0},
	    {"1KiBs", false, 0},
	    {"2 apples", false, 0},
	    {"0x10", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint64_t v = 99;

		if (units_parse_size(slice_of(t[i].text), &v) != t[i].ok)
			fail_msg("'%s'", t[i].text);
		assert_int_equal(v, t[i].ok ? t[i].bytes : 99);
	}
	assert_false(units_parse_size((struct slice){"1\0", 2}, &(uint64_t){0}));
}

static void test_parse_time(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t us;
	} t[] = {
	    {"0", true, 0},
	    {"90", true, 90 * SEC},
	    {"30s", true, 30 * SEC},
	    {"30 s", true, 30 * SEC},
	    {"10m", true, 600 * SEC},
	    {"1h30m", true, 5400 * SEC},
	    {"2d", true, 2 * 86400 * SEC},
	    {"500ms", true, 500000},
	    {"1m500ms", true, 60500000},
	    {"213503982d", true, 213503982 * (86400 * SEC)},
	    {"213503983d", false, 0}, /* above 2^64 us */
	    {"213503982d9h", false, 0},
	    {"18446744073709551615", false, 0},
	    {"", false, 0},
	    {"5 ", false, 0},
	    {"5s ", false, 0},
	    {" 5s", false, 0},
	    {"1h30", false, 0},
	    {"1h 30m", false, 0},
	    {"h", false, 0},
	    {"1w", false, 0},
	    {"1.5h", false, 0},
	    {"-5s", false, 0},
	    {"1M", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint64_t v = 99;

		if (units_parse_time(slice_of(t[i].text), &v) != t[i].ok)
			fail_msg("'%s'", t[i].text);
		assert_int_equal(v, t[i].ok ? t[i].us : 99);
	}
}

struct printed {
	uint64_t v;
	const char *text;
};

static void prints(const struct printed *t, size_t n,
		   const char *(*print)(uint64_t v, char out[UNITS_MAX]))
{
	for (size_t i = 0; i < n; i++) {
		char out[UNITS_MAX];

		assert_ptr_equal(print(t[i].v, out), out);
		assert_string_equal(out, t[i].text);
	}
}

static void test_print(void **state)
{
	static const struct printed sizes[] = {
	    {0, "0B"},
	    {1023, "1023B"},
	    {1024, "1KiB"},
	    {1536, "1.5KiB"},
	    {256 * KIB * KIB, "256MiB"},
	    {3 * KIB * KIB * KIB / 2, "1.5GiB"},
	    {KIB * KIB - 1, "1.0MiB"},
	    {KIB * KIB * KIB - 1, "1.0GiB"},
	    {1023 * KIB, "1023KiB"},
	    {KIB * KIB - 100, "1023.9KiB"},
	    {5 * KIB * KIB * KIB * KIB, "5TiB"},
	    {UINT64_MAX, "16777216.0TiB"},
	};
	static const struct printed times[] = {
	    {0, "0ms"},
	    {850999, "850ms"},
	    {12 * SEC + 900000, "12s"},
	    {200 * SEC, "3m20s"},
	    {3900 * SEC, "1h05m"},
	    {86400 * 2 * SEC + 3 * 3600 * SEC, "2d03h"},
	    {UINT64_MAX, "213503982d08h"},
	};
	static const struct printed counts[] = {
	    {0, "0"},	       {999, "999"},	     {1000, "1.0k"},
	    {12345, "12.3k"},  {999949, "999.9k"},   {999950, "1.0M"},
	    {4500000, "4.5M"}, {1200000000, "1.2G"}, {UINT64_MAX, "18446744.1T"},
	};

	(void)state;
	prints(sizes, sizeof(sizes) / sizeof(sizes[0]), units_size);
	prints(times, sizeof(times) / sizeof(times[0]), units_time);
	prints(counts, sizeof(counts) / sizeof(counts[0]), units_count);
}

/* An exact value reads back as the same value. */
static void test_back(void **state)
{
	char out[UNITS_MAX];

	(void)state;
	for (unsigned i = 0; i < 50; i++) {
		uint64_t size = UINT64_C(3) << i, v;

		if (i % 10 < 8) {
			units_size(size, out);
			assert_true(units_parse_size(slice_of(out), &v));
			assert_int_equal(v, size);
		}
		units_time(i * 60 * SEC, out);
		assert_true(units_parse_time(slice_of(out), &v));
		assert_int_equal(v, i * 60 * SEC);
	}
}

static void test_of(void **state)
{
	char text[UNITS_OF_MAX];

	(void)state;
	assert_string_equal(units_of(0, "crash", "crashes", text), "0 crashes");
	assert_string_equal(units_of(1, "crash", "crashes", text), "1 crash");
	assert_string_equal(units_of(2, "crash", "crashes", text), "2 crashes");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_parse_size), cmocka_unit_test(test_parse_time),
    cmocka_unit_test(test_print),      cmocka_unit_test(test_back),
    cmocka_unit_test(test_of),
};

UNIT_MAIN(tests)
