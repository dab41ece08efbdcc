/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "tests/unit/scratch.h"

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		int want;
		const char *msg; /* the beginning of the message */
	} t[] = {
	    {"{\"a\": [1, 2.5, null, true, \"x\"]}", 0, NULL},
	    {"7", 0, NULL},
	    {"\"x\"", 0, NULL},
	    {"", -EBADMSG, "line 1, column 0: "},
	    {"{\"a\": 1, \"a\": 2}", -EBADMSG, "line 1, column 12: duplicate object key"},
	    {"{\n\"a\": 1,\n}", -EBADMSG, "line 3, column 1: string or '}' expected"},
	    {"{\"a\": 1} x", -EBADMSG, "line 1, column 10: end of file expected"},
	    {"[\"\\u0000\"]", -EBADMSG, "line 1, column 9: \\u0000 is not allowed"},
	    {"[\"\xff\"]", -EBADMSG, "line 1, column 2: unable to decode byte 0xff"},
	    {"[1e999]", -EBADMSG, "line 1, column 6: real number overflow"},
	    {"[99999999999999999999]", -EBADMSG, "line 1, column 21: too big integer"},
	    {"[1", -EBADMSG, "line 1, column 2: "},
	    {"nul", -EBADMSG, "line 1, column 3: "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		_autojson_ json_t *j = NULL;
		struct err e;

		assert_int_equal(json_parse(slice_of(t[i].text), &j, &e), t[i].want);
		assert_int_equal(j != NULL, t[i].want == 0);
		if (t[i].want < 0 && strncmp(e.msg, t[i].msg, strlen(t[i].msg)) != 0)
			fail_msg("'%s' gives '%s'", t[i].text, e.msg);
	}
}

static void test_bounds(void **state)
{
	_autojson_ json_t *j = NULL, *k = NULL;
	static char deep[2 * 5000];
	struct err e;

	(void)state;
	/* Only the slice is read: it needs no NUL at its end, and a NUL in it is an error. */
	assert_int_equal(json_parse((struct slice){"[1]]]", 3}, &j, &e), 0);
	assert_int_equal(json_array_size(j), 1);
	assert_int_equal(json_parse((struct slice){"[1]\0", 4}, &k, &e), -EBADMSG);
	assert_int_equal(json_parse((struct slice){NULL, 0}, &k, &e), -EBADMSG);
	memset(deep, '[', sizeof(deep) / 2);
	memset(deep + sizeof(deep) / 2, ']', sizeof(deep) / 2);
	assert_int_equal(json_parse((struct slice){deep, sizeof(deep)}, &k, &e), -EBADMSG);
	assert_non_null(strstr(e.msg, "maximum parsing depth reached"));
	assert_null(k);
}

static void test_load(void **state)
{
	struct scratch s = SCRATCH_INIT;
	_autojson_ json_t *j = NULL, *none = NULL;
	struct err e;

	(void)state;
	scratch_make(&s);
	scratch_write(s.fd, "good", "{\"a\": 1}");
	scratch_write(s.fd, "bad", "{\"a\": 1,}");
	assert_int_equal(symlinkat("good", s.fd, "link"), 0);
	assert_int_equal(json_load(s.fd, "good", 8, &j, &e), 0);
	assert_int_equal(json_integer_value(json_object_get(j, "a")), 1);
	assert_int_equal(json_load(s.fd, "good", 7, &none, &e), -EFBIG);
	assert_string_equal(e.msg, "'good' has more than 7 bytes");
	assert_int_equal(json_load(s.fd, "bad", 100, &none, &e), -EBADMSG);
	assert_memory_equal(e.msg, "bad: line 1, column 9: ", 23);
	assert_int_equal(json_load(s.fd, "link", 100, &none, &e), -ELOOP);
	assert_int_equal(json_load(s.fd, "none", 100, &none, &e), -ENOENT);
	assert_null(none);
	scratch_remove(&s);
}

static void test_print(void **state)
{
	static const char text[] = "{\"z\": 1, \"a\": [0.1, 2.5, \"\\u001b\\\"\"], \"m\": null}";
	_autojson_ json_t *j = NULL;
	_autofree_ char *line = NULL, *lines = NULL, *one = NULL;
	struct err e;

	(void)state;
	assert_int_equal(json_parse(slice_of(text), &j, &e), 0);
	assert_int_equal(json_print(j, 0, &line, &e), 0);
	assert_string_equal(line, "{\"z\": 1, \"a\": [0.1, 2.5, \"\\u001B\\\"\"], \"m\": null}");
	assert_int_equal(json_print(json_object_get(j, "a"), 2, &lines, &e), 0);
	assert_string_equal(lines, "[\n  0.1,\n  2.5,\n  \"\\u001B\\\"\"\n]");
	assert_int_equal(json_print(json_object_get(j, "z"), 0, &one, &e), 0);
	assert_string_equal(one, "1");
	assert_int_equal(json_print(NULL, 0, &one, &e), -EINVAL);
}

static void test_get(void **state)
{
	_autojson_ json_t *j = NULL;
	struct err e;

	(void)state;
	assert_int_equal(json_parse(SLICE("{\"n\": 7, \"less\": -7, \"s\": \"x\", \"t\": 1.5, "
					  "\"long\": 1e300}"),
				    &j, &e),
			 0);
	assert_int_equal(json_get_u64(j, "n"), 7);
	assert_int_equal(json_get_u64(j, "less"), 0);
	assert_int_equal(json_get_u64(j, "t"), 0);
	assert_int_equal(json_get_u64(j, "none"), 0);
	assert_int_equal(json_get_u64(NULL, "n"), 0);
	assert_string_equal(json_get_text(j, "s"), "x");
	assert_string_equal(json_get_text(j, "n"), "");
	assert_string_equal(json_get_text(NULL, "s"), "");
	assert_int_equal(json_get_us(j, "t"), 1500000);
	assert_int_equal(json_get_us(j, "n"), 7000000);
	assert_int_equal(json_get_us(j, "less"), 0);
	assert_int_equal(json_get_us(j, "s"), 0);
	assert_int_equal(json_get_us(j, "long"), UINT64_C(1000000000000000000));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_parse), cmocka_unit_test(test_bounds), cmocka_unit_test(test_load),
    cmocka_unit_test(test_print), cmocka_unit_test(test_get),
};

UNIT_MAIN(tests)
