/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/serve/listen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

static void good(const char *text, const char *host, unsigned port)
{
	struct serve_listen at;
	struct err e;

	if (serve_listen_parse(text, &at, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(at.host, host);
	assert_int_equal(at.port, port);
}

static void bad(const char *text)
{
	struct serve_listen at;
	struct err e;

	assert_int_equal(serve_listen_parse(text, &at, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "as 127.0.0.1:8089"));
}

static void test_parse(void **state)
{
	(void)state;
	good("127.0.0.1:8089", "127.0.0.1", 8089);
	good("8089", "127.0.0.1", 8089);
	good(":0", "127.0.0.1", 0);
	good("localhost:1", "127.0.0.1", 1);
	good("0.0.0.0:65535", "0.0.0.0", 65535);
	good("[::1]:80", "::1", 80);
	bad("");
	bad(":");
	bad("127.0.0.1");
	bad("127.0.0.1:65536");
	bad("127.0.0.1:-1");
	bad("127.0.0.1:80 ");
	bad("example.org:80");
	bad("::1:80x");
	bad("::1:18091");
	bad("::1");
	bad("[::1]");
	bad("[::1]80");
	bad("[:80");
	bad("[127.0.0.1:80");
	bad("1111111111111111111111111111111111111111111111111111111111111111111111:80");
}

static void test_host(void **state)
{
	static const char *const names[] = {"fuzz.example.org", "dashboard"};
	static const char *const yes[] = {
	    "127.0.0.1",      "127.0.0.1:8089", "[::1]:8089",	    "[::1]",
	    "localhost",      "LOCALHOST:1",	"fuzz.example.org", "Fuzz.Example.Org:443",
	    "dashboard:8089", "192.168.1.2:80"};
	static const char *const no[] = {"",
					 ":80",
					 "evil.example",
					 "evil.example:8089",
					 "localhost.evil.example",
					 "127.0.0.1.evil.example",
					 "fuzz.example.org.",
					 "localhost:x",
					 "localhost:80:80",
					 "localhost:99999",
					 "[::1",
					 "[::1]x",
					 "[]",
					 "127.0.0.1/",
					 "127.0.0.1, evil",
					 "user@localhost"};
	char longest[1000];

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!serve_host_ok(yes[i], names, 2))
			fail_msg("'%s' is refused", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (serve_host_ok(no[i], names, 2))
			fail_msg("'%s' is accepted", no[i]);
	assert_false(serve_host_ok(NULL, names, 2));
	assert_false(serve_host_ok("dashboard", NULL, 0));
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_false(serve_host_ok(longest, names, 2));
}

static void target(const char *url, const char *host, const char *path)
{
	char got[SERVE_HOST_MAX];

	assert_string_equal(serve_target(url, got), path);
	assert_string_equal(got, host);
}

static void test_target(void **state)
{
	char long_one[1000] = "http://", got[SERVE_HOST_MAX];

	(void)state;
	target("/", "", "/");
	target("/http://x/", "", "/http://x/");
	target("http:/x", "", "http:/x");
	target("http://localhost/metrics", "localhost", "/metrics");
	target("HTTP://[::1]:80", "[::1]:80", "/");
	target("http://a@b//c", "a@b", "//c");
	assert_null(serve_target("http:///metrics", got));
	memset(long_one + 7, 'a', SERVE_HOST_MAX);
	assert_null(serve_target(long_one, got));
}

static void test_names(void **state)
{
	struct serve_listen at = {.port = 80};

	(void)state;
	assert_true(serve_host_is_name("fuzz-1.example.org"));
	assert_false(serve_host_is_name(""));
	assert_false(serve_host_is_name("a b"));
	assert_false(serve_host_is_name("a:80"));
	assert_false(serve_host_is_name("a\n"));
	for (unsigned i = 0; i < 3; i++) {
		static const char *const local[] = {"127.0.0.1", "127.9.8.7", "::1"};
		static const char *const open[] = {"0.0.0.0", "192.168.1.2", "::"};

		snprintf(at.host, sizeof(at.host), "%s", open[i]);
		assert_false(serve_listen_is_local(&at));
		snprintf(at.host, sizeof(at.host), "%s", local[i]);
		assert_true(serve_listen_is_local(&at));
	}
}

static void test_open(void **state)
{
	struct serve_listen at = {.host = "127.0.0.1"}, same;
	uint16_t port = 0, other;
	struct err e;
	int fd, again;

	(void)state;
	assert_int_equal(serve_listen_open(&at, &fd, &port, &e), 0);
	assert_true(port > 0);
	same = at;
	same.port = port;
	assert_int_equal(serve_listen_open(&same, &again, &other, &e), -EADDRINUSE);
	assert_non_null(strstr(e.msg, "listen on 127.0.0.1, port "));
	close(fd);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_parse), cmocka_unit_test(test_host), cmocka_unit_test(test_target),
    cmocka_unit_test(test_names), cmocka_unit_test(test_open),
};

UNIT_MAIN(tests)
