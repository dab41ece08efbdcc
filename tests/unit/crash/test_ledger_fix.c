/* SPDX-License-Identifier: Apache-2.0 */
/* A crash with merged crashes: the targets that must pass, and the inputs of each crash. */
#include "tests/unit/unit.h"

#include "runner/crash/ledger/ledger.h"

#include <stdio.h>

static struct ledger *ledger;

#define OK(call)                                             \
	do {                                                 \
		struct err oops = {0};                       \
		if ((call) < 0)                              \
			fail_msg("%s: %s", #call, oops.msg); \
	} while (0)

/* The crash a of the targets t and u.  Merged into it: b of u and v, c without an input, and a
 * name. */
static int setup(void **state)
{
	(void)state;
	OK(ledger_parse(
	    SLICE("{\"a\": {\"v\": 2, \"found_by\": ["
		  "  {\"fuzzer\": \"t\", \"crash_file\": \"a/input\", \"state\": \"known\","
		  "   \"reproduction\": {\"tries\": 3, \"hits\": 3}}, {\"fuzzer\": \"u\"}],"
		  "  \"aliases\": [\"name\"]},"
		  " \"b\": {\"v\": 2, \"found_by\": ["
		  "  {\"fuzzer\": \"v\", \"crash_file\": \"b/input\","
		  "   \"reproduction\": {\"tries\": 10, \"hits\": 5}}, {\"fuzzer\": \"u\"}],"
		  "  \"merged_into\": \"a\"},"
		  " \"c\": {\"fuzzer\": \"w\", \"merged_into\": \"a\"},"
		  " \"d\": {\"fuzzer\": \"t\", \"crash_file\": \"d/input\","
		  "  \"state\": \"regressed\"}}"),
	    &ledger, &oops));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ledger_free(ledger);
	return 0;
}

/* The inputs to replay as "a:t b:u "; inputs of another target are in brackets: "(a:t)". */
static const char *asked(const char *signature, const char *target)
{
	static char out[200];
	const struct known_crash *c = ledger_find(ledger, signature);
	struct ledger_asked a;
	size_t n = 0;

	*out = '\0';
	for (size_t at = 0; ledger_next_asked(ledger, c, target, &at, &a);) {
		bool own = a.input == a.count;

		assert_string_equal(a.count->fuzzer, target);
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s:%s%s ", own ? "" : "(",
				      a.input->signature, a.input->fuzzer, own ? "" : ")");
	}
	return out;
}

static void test_asked(void **state)
{
	(void)state;
	assert_string_equal(asked("a", "t"), "a:t ");
	assert_string_equal(asked("a", "u"), "(a:t) "); /* "u" has no input */
	assert_string_equal(asked("a", "v"), "b:v ");
	assert_string_equal(asked("a", "x"), "");
	assert_string_equal(asked("d", "t"), "d:t ");
	OK(ledger_split(ledger, "b", &oops));
	assert_string_equal(asked("a", "v"), "");
	assert_string_equal(asked("b", "v"), "b:v ");
	OK(ledger_merge(ledger, "d", "a", &oops));
	assert_string_equal(asked("a", "t"), "a:t d:t ");
	OK(ledger_split(ledger, "c", &oops));
	OK(ledger_merge(ledger, "a", "c", &oops)); /* into a crash without its own input */
	assert_string_equal(asked("c", "t"), "a:t d:t ");
	assert_string_equal(asked("c", "w"), "(a:t) ");
}

/* Each input has its own passes.  A sighting in a target resets the passes of that target. */
static void test_passes(void **state)
{
	struct crash_sighting s = {.signature = "b", .target = "v", .time = 5};
	const struct known_crash *a = ledger_record(ledger, "a"), *b = ledger_record(ledger, "b");
	struct ledger_noted n;

	(void)state;
	OK(ledger_passed(ledger, "a", "t", "c2", 4, 0, &oops));
	OK(ledger_passed(ledger, "b", "v", "c2", 7, 2, &oops));
	assert_int_equal(ledger_passes(ledger_entry(a, "t"), "c2", false), 4);
	assert_int_equal(ledger_passes(ledger_entry(a, "u"), "c2", false), 0);
	assert_int_equal(ledger_passes(ledger_entry(b, "v"), "c2", false), 7);
	assert_int_equal(ledger_passes(ledger_entry(b, "v"), "c2", true), 2);
	OK(ledger_note(ledger, &s, &n, &oops));
	assert_ptr_equal(n.crash, a);
	assert_false(n.is_new);
	assert_int_equal(ledger_passes(ledger_entry(a, "t"), "c2", false), 4);
	assert_int_equal(ledger_passes(ledger_entry(b, "v"), "c2", false), 0);
	assert_int_equal(b->reproduction.clean, 0); /* the summary has them */
	assert_string_equal(b->reproduction.clean_commit, "");
}

/* A better input of the merged crash does not replace the input of the other crash. */
static void test_reproducer(void **state)
{
	struct crash_sighting s = {.signature = "b",
				   .target = "v",
				   .run = "r",
				   .time = 5,
				   .crash_type = "T",
				   .crash_file = "b/other",
				   .input_bytes = 1,
				   .tries = 9,
				   .hits = 9};
	const struct known_crash *a = ledger_record(ledger, "a"), *b = ledger_record(ledger, "b");
	struct ledger_noted n;

	(void)state;
	OK(ledger_note(ledger, &s, &n, &oops));
	assert_ptr_equal(n.crash, a);
	assert_string_equal(a->crash_file, "a/input");
	assert_int_equal(a->reproduction.tries, 3);
	assert_int_equal(a->count, 1);
	assert_true(ledger_entry(a, "v") && !n.is_new);
	assert_string_equal(b->crash_file, "b/other");
	assert_int_equal(b->reproduction.tries, 9);
	assert_int_equal(b->input_bytes, 1);
	assert_string_equal(b->merged_into, "a");
}

/* A merge does not hide a regression, in either direction. */
static void test_regressed(void **state)
{
	(void)state;
	OK(ledger_merge(ledger, "d", "a", &oops));
	assert_int_equal(ledger_find(ledger, "d")->state, LEDGER_REGRESSED);
	OK(ledger_ignore(ledger, "a", NULL, SIZE_MAX, NULL, &oops));
	OK(ledger_split(ledger, "d", &oops));
	assert_int_equal(ledger_find(ledger, "d")->state, LEDGER_REGRESSED);
	OK(ledger_merge(ledger, "d", "a", &oops)); /* the user's decision stands */
	assert_int_equal(ledger_find(ledger, "d")->state, LEDGER_IGNORED);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_asked),
    CASE(test_passes),
    CASE(test_reproducer),
    CASE(test_regressed),
};

UNIT_MAIN(tests)
