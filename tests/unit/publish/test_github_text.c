/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/publish/github/internal.h"

#include <stdio.h>
#include <stdlib.h>

static void lines_for_people(void **state)
{
	char out[16];

	(void)state;
	text_clean("a\n\x1b[1m\xc3\xa4 z", out, sizeof(out));
	assert_string_equal(out, "a??[1m?? z");
	text_clean("0123456789abcdefgh", out, sizeof(out));
	assert_string_equal(out, "0123456789abcde");
}

static void names(void **state)
{
	static const char *const good[] = {"octo/widgets", "a/b", "A-1/x.y_z-"};
	static const char *const bad[] = {"",	     "octo",	 "/x",	     "octo/",
					  "octo/..", "../x",	 "a/b/c",    "octo/x y",
					  "octo/x?", "octo/x#y", "octo/%2e", "./x"};
	static char longer[300];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!text_repository_ok(good[i]))
			fail_msg("'%s'", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (text_repository_ok(bad[i]))
			fail_msg("'%s'", bad[i]);
	(void)snprintf(longer, sizeof(longer), "a/%0200d", 1);
	assert_false(text_repository_ok(longer));
	assert_false(text_id_ok(longer));
	assert_true(text_id_ok("github-fixed-0123456789abcdef-1700000000"));
	assert_false(text_id_ok(""));
	assert_false(text_id_ok("a -->"));
}

static void times(void **state)
{
	char out[ISO_MAX];

	(void)state;
	text_iso(1700000000, out);
	assert_string_equal(out, "2023-11-14T22:13:20Z");
	assert_int_equal(text_iso_read(out), 1700000000);
	text_iso(UINT64_MAX, out);
	assert_string_equal(out, "9999-12-31T23:59:59Z");
	assert_int_equal(text_iso_read("2023-11-14T22:13:20+00:00"), 0);
	assert_int_equal(text_iso_read("2023-11-14"), 0);
	assert_int_equal(text_iso_read(""), 0);
	assert_int_equal(text_iso_read("1969-01-01T00:00:00Z"), 0);
	assert_int_equal(text_iso_read("-023-11-14T22:13:20Z"), 0);
}

static void markers(void **state)
{
	static const char body[] = "# x\n"
				   "> <!-- fuzzcell-signature: quoted -->\n"
				   "text <!-- fuzzcell-signature: inside -->\n"
				   " \t<!-- fuzzcell-signature: 0123 --> \r\n"
				   "<!-- fuzzcell-signature: cut\n"
				   "<!-- fuzzcell-delivery: fixed a-1 -->";
	struct slice rest = SLICE(body), key;
	static char longer[1000];

	(void)state;
	assert_true(text_next_marker(&rest, &key));
	assert_true(slice_eq(key, SLICE("signature: 0123")));
	assert_true(text_next_marker(&rest, &key));
	assert_true(slice_eq(key, SLICE("delivery: fixed a-1")));
	assert_false(text_next_marker(&rest, &key));
	assert_true(text_has_marker(body, "signature: 0123"));
	assert_false(text_has_marker(body, "signature: 012"));
	assert_false(text_has_marker(body, "signature: quoted"));
	assert_false(text_has_marker(body, "signature: inside"));
	(void)snprintf(longer, sizeof(longer), "<!-- fuzzcell-signature: %0500d -->", 1);
	rest = slice_of(longer);
	assert_false(text_next_marker(&rest, &key));
}

static void paths_and_base64(void **state)
{
	static const struct {
		const char *from, *path, *base64;
	} t[] = {
	    {"", "", ""},
	    {"f", "f", "Zg=="},
	    {"fo", "fo", "Zm8="},
	    {"foo", "foo", "Zm9v"},
	    {"a/b c?d#e%f", "a/b%20c%3Fd%23e%25f", "YS9iIGM/ZCNlJWY="},
	    {"\xff\xfe~", "%FF%FE~", "//5+"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		_autobuf_ struct buf path = BUF_INIT(100), base64 = BUF_INIT(100);

		http_path(t[i].from, &path);
		assert_string_equal(buf_str(&path), t[i].path);
		text_base64(slice_of(t[i].from), &base64);
		assert_string_equal(buf_str(&base64), t[i].base64);
	}
}

static void bodies(void **state)
{
	static const char key[] = "signature: 0123";
	static const struct {
		const char *body, *reproducer, *want;
	} t[] = {
	    {"x\n<!-- fuzzcell-signature: 0123 -->\n", NULL,
	     "x\n<!-- fuzzcell-signature: 0123 -->\n"},
	    {"x", NULL, "x\n\n<!-- fuzzcell-signature: 0123 -->\n"},
	    {"%REPRODUCER%", "[y](z)", "[y](z)\n\n<!-- fuzzcell-signature: 0123 -->\n"},
	    {"a %REPRODUCER% b %REPRODUCER%", "%REPRODUCER%",
	     "a %REPRODUCER% b %REPRODUCER%\n\n<!-- fuzzcell-signature: 0123 -->\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		_autobuf_ struct buf out = BUF_INIT(1 << 20);
		struct err e;

		assert_int_equal(text_body(t[i].body, t[i].reproducer, key, &out, &e), 0);
		assert_string_equal(buf_str(&out), t[i].want);
	}
}

static size_t characters(struct slice s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

/* The text is cut between characters, and the marker stays. */
static void long_bodies(void **state)
{
	enum { N = 100000 };
	_autobuf_ struct buf out = BUF_INIT(1 << 20), title = BUF_INIT(1 << 20);
	char *body = malloc(4 * N + 1);
	struct err e;

	(void)state;
	assert_non_null(body);
	for (size_t i = 0; i < N; i++)
		memcpy(body + 4 * i, "\xf0\x9f\x98\x80", 4);
	body[(size_t)4 * N] = '\0';
	assert_int_equal(text_body(body, NULL, "signature: 0123", &out, &e), 0);
	assert_true(characters(buf_slice(&out)) < 65536);
	assert_true(text_has_marker(buf_str(&out), "signature: 0123"));
	assert_memory_equal(buf_str(&out) + (size_t)4 * 65000, "\n\n(cut", 6);
	text_title(body, &title);
	assert_int_equal(title.n, 4 * 250);
	free(body);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(lines_for_people),
    cmocka_unit_test(names),
    cmocka_unit_test(times),
    cmocka_unit_test(markers),
    cmocka_unit_test(paths_and_base64),
    cmocka_unit_test(bodies),
    cmocka_unit_test(long_bodies),
};

UNIT_MAIN(tests)
