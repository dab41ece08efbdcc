/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/publish/github/internal.h"
#include "tests/unit/publish/headers.h"

static struct http_reply reply(unsigned status, const char *body, const char *const *headers)
{
	struct http_reply r = {.status = status, .body = BUF_INIT(1 << 20)};

	for (; headers && *headers; headers++)
		put_header(&r.headers, *headers);
	buf_puts(&r.body, body);
	return r;
}

static void what_it_means(void **state)
{
	static const char *const wish[] = {"Retry-After: 90", NULL};
	static const char *const now[] = {"Retry-After: 0", NULL};
	static const char *const years[] = {"Retry-After: 99999999999", NULL};
	static const char *const used[] = {"Date: Sun, 06 Nov 1994 08:49:37 GMT",
					   "X-RateLimit-Remaining: 0",
					   "X-RateLimit-Reset: 784111877", NULL};
	static const char *const stale[] = {"Date: Sun, 06 Nov 1994 08:49:37 GMT",
					    "X-RateLimit-Remaining: 0",
					    "X-RateLimit-Reset: 784111776", NULL};
	static const char *const left[] = {"Date: Sun, 06 Nov 1994 08:49:37 GMT",
					   "X-RateLimit-Remaining: 7",
					   "X-RateLimit-Reset: 784111877", NULL};
	static const char secondary[] =
	    "{\"message\": \"You have exceeded a secondary rate limit\"}";
	static const struct {
		unsigned status;
		const char *body;
		const char *const *headers;
		enum answer_kind kind;
		bool unsure, whole_host;
		uint64_t wait_s;
	} t[] = {
	    {200, "{}", NULL, ANSWER_OK, false, false, 0},
	    {201, "[]", NULL, ANSWER_OK, false, false, 0},
	    {201, "{\"number\": 1", NULL, ANSWER_LATER, true, false, 60},
	    {200, "", NULL, ANSWER_LATER, true, false, 60},
	    {304, "", NULL, ANSWER_REFUSED, false, false, 0},
	    {301, "{}", NULL, ANSWER_REFUSED, false, false, 0},
	    {400, "{}", NULL, ANSWER_REFUSED, false, false, 0},
	    {401, "{}", NULL, ANSWER_TOKEN, false, true, 3600},
	    {403, "{}", NULL, ANSWER_REFUSED, false, false, 0},
	    {403, "{}", left, ANSWER_REFUSED, false, false, 0},
	    {403, "{}", wish, ANSWER_LATER, false, true, 90},
	    {403, "{}", now, ANSWER_LATER, false, true, 1},
	    {403, "{}", years, ANSWER_LATER, false, true, 86400},
	    {403, "{}", used, ANSWER_LATER, false, true, 101},
	    {403, "{}", stale, ANSWER_LATER, false, true, 60},
	    {403, secondary, NULL, ANSWER_LATER, false, true, 60},
	    {429, "", NULL, ANSWER_LATER, false, true, 60},
	    {429, "", wish, ANSWER_LATER, false, true, 90},
	    {404, "{}", NULL, ANSWER_MISSING, false, false, 0},
	    {410, "{}", NULL, ANSWER_MISSING, false, false, 0},
	    {408, "{}", NULL, ANSWER_LATER, false, false, 60},
	    {409, "{}", NULL, ANSWER_LATER, false, false, 60},
	    {422, "{}", NULL, ANSWER_INVALID, false, false, 0},
	    {451, "{}", NULL, ANSWER_REFUSED, false, false, 0},
	    {500, "<html>", NULL, ANSWER_LATER, true, false, 60},
	    {502, "<html>", NULL, ANSWER_LATER, true, true, 60},
	    {503, "", wish, ANSWER_LATER, true, true, 90},
	    {503, "", now, ANSWER_LATER, true, true, 60},
	    {599, "", NULL, ANSWER_LATER, true, false, 60},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct http_reply r = reply(t[i].status, t[i].body, t[i].headers);
		struct answer a = ANSWER_INIT;

		answer_judge(&r, NULL, &a);
		if (a.kind != t[i].kind || a.unsure != t[i].unsure ||
		    a.whole_host != t[i].whole_host || a.wait_s != t[i].wait_s)
			fail_msg("%zu: %u is %d %d %d %llu", i, t[i].status, (int)a.kind, a.unsure,
				 a.whole_host, (unsigned long long)a.wait_s);
		assert_int_equal(a.kind == ANSWER_OK, a.why[0] == '\0');
		if (a.kind == ANSWER_OK)
			assert_non_null(a.body);
		answer_done(&a);
		http_reply_done(&r);
	}
}

static void what_it_says(void **state)
{
	static const struct {
		const char *body, *want;
	} t[] = {
	    {"{\"message\": \"Validation Failed\", \"errors\": [{\"field\": \"title\", \"code\": "
	     "\"missing_field\"}, {\"message\": \"a\\nb\"}, \"c\", 5]}",
	     "422: Validation Failed; title missing_field; a?b; c;  "},
	    {"{\"message\": 5, \"errors\": \"x\"}", "422: no reason given"},
	    {"[1]", "422: no reason given"},
	    {"<html>", "422: no reason given"},
	    {"{\"message\": \"\\u0000x\"}", "422: no reason given"},
	    {"{\"message\": \"\\u202ex\"}", "422: ??"
					    "?x"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct http_reply r = reply(422, t[i].body, NULL);
		struct answer a = ANSWER_INIT;

		answer_judge(&r, NULL, &a);
		assert_string_equal(a.why, t[i].want);
		answer_done(&a);
		http_reply_done(&r);
	}
}

static void what_did_not_come(void **state)
{
	static const struct {
		int code;
		enum answer_kind kind;
		bool unsure, whole_host;
	} t[] = {
	    {-ENOTCONN, ANSWER_LATER, false, true},    {-ENOMEM, ANSWER_LATER, false, true},
	    {-EINVAL, ANSWER_REFUSED, false, false},   {-EIO, ANSWER_LATER, true, true},
	    {-EMSGSIZE, ANSWER_TOO_LARGE, true, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct answer a = ANSWER_INIT;

		answer_failed(t[i].code, "why\n", &a);
		assert_int_equal(a.kind, t[i].kind);
		assert_int_equal(a.unsure, t[i].unsure);
		assert_int_equal(a.whole_host, t[i].whole_host);
		assert_string_equal(a.why, "why?");
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_it_means),
    cmocka_unit_test(what_it_says),
    cmocka_unit_test(what_did_not_come),
};

UNIT_MAIN(tests)
