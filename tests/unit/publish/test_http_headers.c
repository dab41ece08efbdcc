/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/publish/headers.h"

#include <stdio.h>

static struct http_headers read_all(const char *const *lines)
{
	struct http_headers h = {0};

	for (; *lines; lines++)
		put_header(&h, *lines);
	return h;
}

static void what_github_says(void **state)
{
	const char *const lines[] = {
	    "Date: Sun, 06 Nov 1994 08:49:37 GMT",
	    "X-RateLimit-Remaining: 0",
	    "x-ratelimit-reset: 784111837",
	    "Retry-After: 90",
	    "Location: https://api.github.com/repositories/1/issues",
	    "link: <https://api.github.com/x?page=1,2>; rel=\"prev\", "
	    "<https://api.github.com/x?page=3>; rel=\"next\", <https://e.example/9>; rel=\"last\"",
	    "X-Whatever: <y>; rel=\"next\"",
	    NULL};
	struct http_headers h = read_all(lines);

	(void)state;
	assert_int_equal(h.date_s, 784111777);
	assert_true(h.has_remaining && h.remaining == 0);
	assert_int_equal(h.reset_s, 784111837);
	assert_true(h.has_retry_after && h.retry_after_s == 90);
	assert_string_equal(h.location, "https://api.github.com/repositories/1/issues");
	assert_string_equal(h.next, "https://api.github.com/x?page=3");
}

static void a_date_to_retry_after_counts_from_the_servers_clock(void **state)
{
	const char *const first[] = {"Date: Sun, 06 Nov 1994 08:49:37 GMT",
				     "Retry-After: Sun, 06 Nov 1994 08:50:37 GMT", NULL};
	const char *const last[] = {"Retry-After: Sun, 06 Nov 1994 08:50:37 GMT",
				    "Date: Sun, 06 Nov 1994 08:49:37 GMT", NULL};
	const char *const past[] = {"Date: Sun, 06 Nov 1994 08:50:38 GMT",
				    "Retry-After: Sun, 06 Nov 1994 08:50:37 GMT", NULL};
	const char *const alone[] = {"Retry-After: Sun, 06 Nov 1994 08:50:37 GMT", NULL};

	(void)state;
	assert_int_equal(read_all(first).retry_after_s, 60);
	assert_int_equal(read_all(last).retry_after_s, 60);
	assert_true(read_all(past).has_retry_after);
	assert_int_equal(read_all(past).retry_after_s, 0);
	assert_false(read_all(alone).has_retry_after);
}

static void what_cannot_be_read_is_not_there(void **state)
{
	static char longer[HTTP_URL_MAX + 64];
	const char *const lines[] = {"Retry-After: -1",
				     "Retry-After: 18446744073709551616",
				     "Retry-After: 1.5",
				     "Retry-After: soon",
				     "x-ratelimit-remaining: many",
				     "x-ratelimit-reset: 0x10",
				     "Date: yesterday",
				     "Location: https://a b/",
				     "Location: /\x01",
				     longer,
				     "Link: https://x/; rel=\"next\"",
				     "Link: <https://x/",
				     "Link: <>; rel=\"next\"",
				     ": x",
				     NULL};
	struct http_headers h;

	(void)state;
	(void)snprintf(longer, sizeof(longer), "Location: /%0*d", HTTP_URL_MAX, 0);
	h = read_all(lines);
	assert_false(h.date_s || h.has_retry_after || h.retry_after_s || h.retry_at_s);
	assert_false(h.has_remaining || h.remaining || h.reset_s);
	assert_string_equal(h.location, "");
	assert_string_equal(h.next, "");
}

static void the_last_valid_one_counts(void **state)
{
	const char *const lines[] = {"Date: Sun, 06 Nov 1994 08:49:37 GMT",
				     "Date: Sun, 06 Nov 1994 08:49:38 GMT",
				     "Date: soon",
				     "Location: /a",
				     "Location: /b",
				     "Location: /c d",
				     NULL};
	struct http_headers h = read_all(lines);

	(void)state;
	assert_int_equal(h.date_s, 784111778);
	assert_string_equal(h.location, "/b");
}

static void dates(void **state)
{
	static const struct {
		const char *text;
		uint64_t s; /* 0: not a date */
	} t[] = {
	    {"Thu, 01 Jan 1970 00:00:01 GMT", 1},
	    {"Tue, 29 Feb 2028 23:59:59 GMT", 1835481599},
	    {"Fri, 31 Dec 9999 23:59:59 GMT", UINT64_C(253402300799)},
	    {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777},
	    {"Sun Nov  6 08:49:37 1994", 784111777},
	    {"Fri, 31 Dec 10000 23:59:59 GMT", 0},
	    {"Fri, 31 Dec 99999999 23:59:59 GMT", 0},
	    {"Wed, 31 Dec 1969 23:59:58 GMT", 0},
	    {"Sun, 32 Nov 1994 08:49:37 GMT", 0},
	    {"Sun, 06 Nov 1994 24:49:37 GMT", 0},
	    {"Sun, 06 Nop 1994 08:49:37 GMT", 0},
	    {"Sun, 06 N", 0},
	    {"", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct http_headers h = {0};

		http_headers_field(&h, "Date", t[i].text);
		if (h.date_s != t[i].s)
			fail_msg("'%s'", t[i].text);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_github_says),
    cmocka_unit_test(a_date_to_retry_after_counts_from_the_servers_clock),
    cmocka_unit_test(what_cannot_be_read_is_not_there),
    cmocka_unit_test(the_last_valid_one_counts),
    cmocka_unit_test(dates),
};

UNIT_MAIN(tests)
