/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/crash/ledgers.h"

static void test_lists_are_bounded(void **state)
{
	const struct known_crash *c;
	char text[32];

	(void)state;
	parse("{}");
	for (unsigned i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "%u", i);
		(void)NOTE(.signature = "s", .target = "t", .run = text, .artifact = text,
			   .raw_key = text, .count = i);
	}
	c = crash("s");
	assert_int_equal(c->n_runs, LEDGER_RUNS);
	assert_string_equal(c->runs[0].run, "180");
	assert_int_equal(c->runs[19].count, 199);
	assert_int_equal(c->artifacts.n, LEDGER_ARTIFACTS);
	assert_string_equal(c->artifacts.v[0], "150");
	assert_int_equal(c->raw_keys.n, LEDGER_RAW_KEYS);
	assert_string_equal(c->raw_keys.v[0], "t:136");
	assert_null(ledger_find_raw(ledger, "t", "135"));
	assert_ptr_equal(ledger_find_raw(ledger, "t", "136"), c);
	assert_int_equal(c->count, 1 + 199 * 200 / 2);
	/* A crash that is seen again becomes the newest: it is not dropped next. */
	(void)NOTE(.signature = "s", .target = "t", .run = "180", .raw_key = "136",
		   .artifact = "150", .count = UINT64_MAX);
	assert_string_equal(c->raw_keys.v[LEDGER_RAW_KEYS - 1], "t:136");
	assert_string_equal(c->artifacts.v[LEDGER_ARTIFACTS - 1], "150");
	assert_int_equal(c->n_runs, LEDGER_RUNS);
	assert_true(c->runs[0].count == INT64_MAX && c->count == INT64_MAX);
	check_text();
}

/* One more crash is refused, and leaves no trace. */
static void test_targets_are_bounded(void **state)
{
	struct crash_sighting s = {.signature = "s", .target = "one more", .raw_key = "k"};
	struct ledger_noted n;
	struct err e;
	char text[32];

	(void)state;
	parse("{}");
	for (unsigned i = 0; i < LEDGER_TARGETS; i++) {
		snprintf(text, sizeof(text), "%u", i);
		assert_true(NOTE(.signature = "s", .target = text, .run = "r", .count = 2).is_new);
	}
	assert_int_equal(crash("s")->n_by, LEDGER_TARGETS);
	assert_int_equal(crash("s")->count, 2 * LEDGER_TARGETS);
	assert_int_equal(crash("s")->runs[0].count, 2 * LEDGER_TARGETS);
	assert_int_equal(ledger_note(ledger, &s, &n, &e), -ENOSPC);
	assert_string_equal(e.msg, "note crash 's': more than 1000 targets found crash 's'");
	assert_null(ledger_find_raw(ledger, "one more", "k"));
	assert_false(NOTE(.signature = "s", .target = "999").is_new);
	check_text();
}

static void test_raw_keys(void **state)
{
	(void)state;
	parse("{}");
	(void)NOTE(.signature = "a", .target = "t", .raw_key = "1");
	(void)NOTE(.signature = "b", .target = "t", .raw_key = "2");
	assert_ptr_equal(ledger_find_raw(ledger, "t", "1"), crash("a"));
	(void)NOTE(.signature = "b", .target = "t", .raw_key = "1"); /* triage overrides it */
	assert_ptr_equal(ledger_find_raw(ledger, "t", "1"), crash("b"));
	assert_int_equal(crash("a")->raw_keys.n, 0);
	assert_int_equal(crash("b")->raw_keys.n, 2);
	(void)NOTE(.signature = "a", .target = "", .raw_key = "3");
	(void)NOTE(.signature = "a", .raw_key = "3");
	(void)NOTE(.signature = "a", .target = "t", .raw_key = "");
	(void)NOTE(.signature = "a", .target = "t", .raw_key = "a\nb");
	assert_int_equal(crash("a")->raw_keys.n, 0);
	assert_null(ledger_find_raw(ledger, NULL, "1"));
	assert_null(ledger_find_raw(ledger, "t", NULL));
	check_text();
}

/* Any text of a target can be written, and is bounded. */
static void test_hostile_texts(void **state)
{
	static const struct {
		const char *text, *want;
	} t[] = {
	    {"caf\xc3\xa9 \xf0\x9f\x98\x80", "caf\xc3\xa9 \xf0\x9f\x98\x80"},
	    {"\xff\x80\xc3", "???"},
	    {"\xc0\xaf\xe0\x80\xaf", "?????"}, /* not the shortest form */
	    {"\xed\xa0\x80\xf4\x90\x80\x80",
	     "???????"}, /* a surrogate, and a code point that is too large */
	    {"\xe2\x82", "??"},
	    {"a\x1b[31m\x7f\r\nb", "a [31m   b"},
	    {"\"\\/", "\"\\/"},
	};
	static char longer[5000];
	const struct known_crash *c;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		parse("{}");
		c = NOTE(.signature = "s", .target = t[i].text, .crash_type = t[i].text,
			 .artifact = t[i].text, .run = t[i].text, .frames = &t[i].text,
			 .n_frames = 1)
			.crash;
		assert_string_equal(c->fuzzer, t[i].want);
		assert_string_equal(c->artifacts.v[0], t[i].want);
		assert_string_equal(c->frames.v[0], t[i].want);
		check_text();
	}
	for (size_t i = 0; i < sizeof(longer) - 3; i += 3)
		memcpy(longer + i, "\xe2\x82\xac",
		       4); /* three bytes: the limit of 1024 is inside of one */
	c = NOTE(.signature = "s", .top_frame = longer, .crash_type = longer).crash;
	assert_int_equal(strlen(c->top_frame), 1023);
	OK(ledger_ignore(ledger, "s", NULL, SIZE_MAX, longer, &oops));
	assert_int_equal(strlen(c->note), 4095);
	check_text();
}

static void test_refused_signatures(void **state)
{
	static char longer[LEDGER_SIGNATURE_MAX + 2];
	static const char *const bad[] = {NULL, "", "a\x01", "\xff", longer};
	struct crash_sighting s = {.signature = longer};
	struct ledger_noted n;

	(void)state;
	parse("{}");
	memset(longer, 'a', LEDGER_SIGNATURE_MAX + 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = {0};

		s.signature = bad[i];
		assert_int_equal(ledger_note(ledger, &s, &n, &e), -EINVAL);
		assert_true(strstr(e.msg, "signature"));
	}
	assert_int_equal(ledger_count(ledger), 0);
	longer[LEDGER_SIGNATURE_MAX] = '\0';
	s.signature = longer;
	(void)note(&s);
	assert_non_null(crash(longer));
	check_text();
}

static void test_better(void **state)
{
	static const struct {
		const char *crash;
		uint64_t tries, hits, bytes;
		bool want;
	} t[] = {
	    {"", 6, 0, 9, true},
	    {"\"crash_file\": \"f\", \"input_bytes\": 9", 3, 3, 99, true}, /* none was measured */
	    {"\"crash_file\": \"f\", \"input_bytes\": 9", 0, 0, 9, false},
	    {"\"crash_file\": \"f\", \"input_bytes\": 9", 0, 0, 8, true},
	    {"\"crash_file\": \"f\", \"input_bytes\": 9, \"reproduction\": {\"tries\": 7, "
	     "\"hits\": 1}",
	     3, 3, 99, true},
	    {"\"crash_file\": \"f\", \"input_bytes\": 9, \"reproduction\": {\"tries\": 3, "
	     "\"hits\": 3}",
	     10, 9, 1, false},
	    {"\"crash_file\": \"f\", \"input_bytes\": 9, \"reproduction\": {\"tries\": 3, "
	     "\"hits\": 3}",
	     6, 6, 8, true},
	    {"\"crash_file\": \"f\", \"input_bytes\": 9, \"minimized\": \"m\", "
	     "\"minimized_bytes\": 4, \"reproduction\": {\"tries\": 3, \"hits\": 3}",
	     3, 3, 8, false},
	    {"\"crash_file\": \"f\", \"input_bytes\": 9, \"minimized\": \"m\", "
	     "\"minimized_bytes\": 4, \"reproduction\": {\"tries\": 3, \"hits\": 3}",
	     3, 3, 3, true},
	    {"\"state\": \"fixed\", \"crash_file\": \"f\", \"input_bytes\": 9, "
	     "\"reproduction\": {\"tries\": 3, \"hits\": 3}",
	     7, 1, 99, true},
	    {"\"state\": \"fixed\", \"crash_file\": \"f\", \"input_bytes\": 9", 6, 0, 1, false},
	};
	char text[300];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		snprintf(text, sizeof(text), "{\"s\": {\"count\": 1%s%s}}",
			 t[i].crash[0] ? ", " : "", t[i].crash);
		parse(text);
		if (ledger_is_better(crash("s"), t[i].tries, t[i].hits, t[i].bytes) != t[i].want)
			fail_msg("%zu: %s", i, text);
	}
}

/* Names in any order are sorted, found, and limited in number. */
static void test_many(void **state)
{
	struct crash_sighting s = {.target = "t", .crash_type = "x"};
	struct ledger_noted n;
	char name[20];
	struct err e;

	(void)state;
	parse("{}");
	for (uint32_t i = 0; i < LEDGER_CRASHES_MAX; i++) {
		snprintf(name, sizeof(name), "%08x%08x", i ^ 0x155, i);
		s.signature = s.raw_key = name;
		assert_true(note(&s).is_new);
	}
	for (uint32_t i = 0; i < LEDGER_CRASHES_MAX; i += 997) {
		snprintf(name, sizeof(name), "%08x%08x", i ^ 0x155, i);
		assert_string_equal(crash(name)->signature, name);
		assert_ptr_equal(ledger_find_raw(ledger, "t", name), crash(name));
		assert_false(note(&s).is_new);
	}
	for (size_t i = 1; i < ledger_count(ledger); i++)
		assert_true(strcmp(ledger_at(ledger, i - 1)->signature,
				   ledger_at(ledger, i)->signature) < 0);
	s.signature = "one more";
	assert_int_equal(ledger_note(ledger, &s, &n, &e), -ENOSPC);
	assert_string_equal(e.msg, "more than 100000 crashes");
	check_text();
}

#define CASE(f) cmocka_unit_test_teardown(f, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_lists_are_bounded),
    CASE(test_targets_are_bounded),
    CASE(test_raw_keys),
    CASE(test_hostile_texts),
    CASE(test_refused_signatures),
    CASE(test_better),
    CASE(test_many),
};

UNIT_MAIN(tests)
