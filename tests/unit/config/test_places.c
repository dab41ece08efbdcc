/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/config/places.h"

#include <errno.h>

static void test_lines_in_order(void **state)
{
	/* id:  0 root, 1 a, 2 b, 3 b[0], 4 b[1], 5 b[1].c, 6 d */
	static const char text[] = "{ \"a\"\n:\n1,\n\"b\": [\n  true,\n  {\"c\\\"}{\": \"x,]\"}],\n"
				   "\"d\":\n  null}";
	static const uint32_t lines[] = {1, 1, 4, 5, 6, 6, 7};
	CLEANUP(places_done) struct places p = {0};
	struct err e;

	(void)state;
	assert_int_equal(places_scan(slice_of(text), &p, &e), 0);
	assert_int_equal(p.n, 7);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(places_line(&p, i), lines[i]);
	assert_int_equal(places_line(&p, 7), 0);
}

static void test_walk(void **state)
{
	CLEANUP(places_done) struct places p = {0};
	struct err e;
	uint32_t id = places_child(0);

	(void)state;
	assert_int_equal(
	    places_scan(SLICE("{\"a\":{\"x\":[1,[2]]},\n\"b\":[],\n\"c\":{}}"), &p, &e), 0);
	assert_int_equal(places_line(&p, id), 1);
	id = places_next(&p, id);
	assert_int_equal(places_line(&p, id), 2);
	id = places_next(&p, id);
	assert_int_equal(places_line(&p, id), 3);
	assert_int_equal(places_next(&p, id), p.n);
	assert_int_equal(places_next(&p, 1000), 1000); /* stays at its place */
}

static void test_one_value(void **state)
{
	CLEANUP(places_done) struct places p = {0};
	struct err e;

	(void)state;
	assert_int_equal(places_scan(SLICE("\n\n -1.5e3 \n"), &p, &e), 0);
	assert_int_equal(p.n, 1);
	assert_int_equal(places_line(&p, 0), 3);
}

static int scan_repeated(char c, size_t n, struct err *e)
{
	_autofree_ char *text = malloc(n);
	struct places p = {0};
	int r;

	assert_non_null(text);
	memset(text, c, n);
	if (c == ',')
		for (size_t i = 0; i < n; i += 2)
			text[i] = '1';
	r = places_scan((struct slice){text, n}, &p, e);
	places_done(&p);
	return r;
}

static void test_bounds(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(scan_repeated('[', PLACES_MAX_DEPTH, &e), 0);
	assert_int_equal(scan_repeated('[', PLACES_MAX_DEPTH + 1, &e), -E2BIG);
	assert_string_equal(e.msg, "line 1: nested deeper than 32 levels");
	assert_int_equal(scan_repeated(',', 2 * PLACES_MAX, &e), 0);
	assert_int_equal(scan_repeated(',', 2 * PLACES_MAX + 1, &e), -E2BIG);
	assert_string_equal(e.msg, "line 1: more than 65536 values");
}

/* For invalid JSON the only promise is to stay inside of the text. */
static void test_not_json(void **state)
{
	static const char *const texts[] = {"",	  "\"",	 "\"\\", "{", "{\"", "}",
					    "]}", "[1}", ":",	 ",", "{,",  "\\"};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct places p = {0};
		size_t n = strlen(texts[i]);
		_autofree_ char *exact = malloc(n + 1); /* for the sanitizer's red zone */

		assert_non_null(exact);
		memcpy(exact + 1, texts[i], n);
		if (places_scan((struct slice){exact + 1, n}, &p, &e) < 0)
			assert_int_equal(e.code, EBADMSG);
		places_done(&p);
	}
	assert_int_equal(places_scan(SLICE("]"), &(struct places){0}, &e), -EBADMSG);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_lines_in_order), cmocka_unit_test(test_walk),
    cmocka_unit_test(test_one_value),	   cmocka_unit_test(test_bounds),
    cmocka_unit_test(test_not_json),
};

UNIT_MAIN(tests)
