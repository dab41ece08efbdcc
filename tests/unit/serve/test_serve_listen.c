/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/serve/serve_listen.h"

#include <errno.h>
#include <stdbool.h>

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
			fail_msg("'%s' is taken", no[i]);
	assert_false(serve_host_ok(NULL, names, 2));
	assert_false(serve_host_ok("dashboard", NULL, 0));
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_false(serve_host_ok(longest, names, 2));
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
    cmocka_unit_test(test_parse),
    cmocka_unit_test(test_host),
    cmocka_unit_test(test_open),
};

UNIT_MAIN(tests)
