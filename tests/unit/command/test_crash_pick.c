/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/command/crash/crash.h"

#include <errno.h>
#include <stdio.h>

static struct ledger *ledger_of(const char *text)
{
	struct ledger *l;
	struct err e;

	assert_int_equal(ledger_parse(slice_of(text), &l, &e), 0);
	return l;
}

static void picks(const struct ledger *l, const char *text, const char *want)
{
	const struct known_crash *c = NULL;
	struct err e;

	if (crash_pick(l, text, &c, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(c->signature, want);
}

static void refuses(const struct ledger *l, const char *text, int code, const char *want)
{
	const struct known_crash *c = NULL;
	struct err e = {0};

	assert_int_equal(crash_pick(l, text, &c, &e), -code);
	assert_string_equal(e.msg, want);
	assert_null(c);
}

static void test_pick(void **state)
{
	struct ledger *l = ledger_of("{\"0123456789abcdef\": {\"fuzzer\": \"a\"},"
				     " \"0123ffffffffffff\": {\"fuzzer\": \"a\"},"
				     " \"heap|foo|bar\": {\"fuzzer\": \"b\"},"
				     " \"heap|foo\": {\"fuzzer\": \"b\"}}");

	(void)state;
	picks(l, "0123456789abcdef", "0123456789abcdef");
	picks(l, "01234", "0123456789abcdef");
	picks(l, "0123f", "0123ffffffffffff");
	picks(l, "heap|foo|", "heap|foo|bar");
	/* A whole signature names its crash, although another signature begins with it. */
	picks(l, "heap|foo", "heap|foo");
	refuses(l, "0123", ENOTUNIQ, "'0123' begins 2 crashes: 0123456789abcdef, 0123ffffffffffff");
	refuses(l, "", ENOENT, "no crash '' (fuzzcell crash list)");
	refuses(l, "x\x1b", ENOENT, "no crash 'x\\x1b' (fuzzcell crash list)");
	refuses(l, "0123456789abcdef0", ENOENT,
		"no crash '0123456789abcdef0' (fuzzcell crash list)");
	ledger_free(l);
}

static void test_merged(void **state)
{
	struct ledger *l = ledger_of("{\"aa\": {\"fuzzer\": \"t\"}, \"bb\": {\"fuzzer\": \"t\"}}");
	struct err e;

	(void)state;
	assert_int_equal(ledger_merge(l, "aa", "bb", &e), 0);
	picks(l, "aa", "aa");
	picks(l, "a", "aa");
	ledger_free(l);
}

static void test_many(void **state)
{
	char text[4000] = "{";
	struct ledger *l;

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s\"ab%02u%0100u\": {\"fuzzer\": \"t\"}", i ? ", " : "", i, i);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "}");
	l = ledger_of(text);
	/* Long values are cut: the text stays one readable line. */
	refuses(l, "ab1", ENOTUNIQ,
		"'ab1' begins 10 crashes: "
		"ab1000000000000000000000000000000000000000000000000000000000, "
		"ab1100000000000000000000000000000000000000000000000000000000, "
		"ab1200000000000000000000000000000000000000000000000000000000, "
		"ab1300000000000000000000000000000000000000000000000000000000, "
		"ab1400000000000000000000000000000000000000000000000000000000 and 5 more");
	ledger_free(l);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_pick),
    cmocka_unit_test(test_merged),
    cmocka_unit_test(test_many),
};

UNIT_MAIN(tests)
