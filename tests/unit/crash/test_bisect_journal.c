/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/scratch_dir.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "runner/crash/bisect/journal.h"
#include "runner/crash/bisect/words.h"

#include <math.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct journal journal;

static int journal_end(void **state)
{
	journal_done(&journal);
	return end(state);
}

static void load(const char *of)
{
	struct err e = {0};

	journal_done(&journal);
	if (journal_load(dir.fd, of, &journal, &e) < 0)
		fail_msg("%s", e.msg);
}

static void save(void)
{
	struct err e = {0};

	if (journal_save(dir.fd, &journal, &e) < 0)
		fail_msg("%s", e.msg);
}

static void test_round_trip(void **state)
{
	const struct journal_test a = {A, BISECT_FAILS, {{3, 2}, {1, 1}}, ""},
				  b = {B, BISECT_SKIPPED, {{0, 0}}, "make: *** \"x\" \xc3\xa9"};

	(void)state;
	load("of");
	assert_int_equal(journal.n, 0);
	journal_add(&journal, &a);
	journal_add(&journal, &b);
	save();
	load("of");
	assert_int_equal(journal.n, 2);
	assert_int_equal(journal_find(&journal, A)->outcome, BISECT_FAILS);
	assert_int_equal(journal_find(&journal, A)->input[0].tries, 3);
	assert_int_equal(journal_find(&journal, A)->input[0].hits, 2);
	assert_int_equal(journal_find(&journal, A)->input[1].tries, 1);
	assert_string_equal(journal_find(&journal, B)->why, b.why);
	journal_add(&journal, &a); /* replays of one commit add up */
	assert_int_equal(journal.n, 2);
	assert_int_equal(journal_find(&journal, A)->input[0].tries, 6);
	assert_null(journal_find(&journal, "cccccccccccccccccccccccccccccccccccccccc"));
	load("other inputs"); /* their tests prove nothing */
	assert_int_equal(journal.n, 0);
}

/* A file that was changed is read as far as it makes sense. */
static void test_hostile(void **state)
{
	static const char *const texts[] = {
	    "",
	    "{",
	    "[]",
	    "{\"of\": 1, \"tests\": 2}",
	    "{\"of\": \"of\", \"tests\": [1, null, {}, {\"commit\": \"HEAD\", \"outcome\": "
	    "\"fails\"}, {\"commit\": \"" A "\", \"outcome\": \"sings\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		scratch_write(dir.fd, "bisect.json", texts[i]);
		load("of");
		assert_int_equal(journal.n, 0);
	}
	scratch_write(dir.fd, "bisect.json",
		      "{\"of\": \"of\", \"tests\": [{\"commit\": \"" A
		      "\", \"outcome\": \"passes\","
		      " \"input\": {\"tries\": 99999999999, \"hits\": -4}}]}");
	load("of");
	assert_int_equal(journal.n, 1);
	assert_in_range(journal.v[0].input[0].tries, 1, 1000000);
	assert_int_equal(journal.v[0].input[0].hits, 0);
}

static void test_miss(void **state)
{
	const struct journal_tries always[JOURNAL_INPUTS] = {{10, 10}, {0, 0}},
				   both[JOURNAL_INPUTS] = {{10, 10}, {10, 10}},
				   never[JOURNAL_INPUTS] = {{6, 0}, {0, 0}};
	const struct journal_test t = {A, BISECT_PASSES, {{4, 0}, {4, 0}}, ""};

	(void)state;
	/* 10 of 10: at least 0.74 at 95 % (odds.h), so 4 passes have less than 1 %. */
	assert_true(journal_miss(&t, always) < 0.01);
	assert_true(journal_miss(&t, always) > 0.001);
	assert_true(fabs(journal_miss(&t, both) - pow(journal_miss(&t, always), 2)) < 1e-9);
	assert_true(journal_miss(&t, never) == 1);
}

static const char *describe(struct bisect_answer a, struct bisect_words w)
{
	static char out[BISECT_SENTENCE];

	*out = '\0';
	w.last = "L";
	bisect_describe(&a, &w, out);
	return out;
}

static void test_words(void **state)
{
	const struct bisect_words two = {.first = "F"}, fix = {.first = "F", .fix = true},
				  one = {.why = "absent"}, bounded = {.bounded = true};

	(void)state;
	assert_string_equal(
	    describe((struct bisect_answer){.kind = BISECT_COMMIT, .first = 1}, two),
	    "L fails, and its parent F does not");
	assert_string_equal(
	    describe((struct bisect_answer){.kind = BISECT_COMMIT, .first = 1}, fix),
	    "L fails, and F, the next commit, does not");
	assert_string_equal(describe((struct bisect_answer){.kind = BISECT_ADDED, .first = 1}, two),
			    "L fails, and its parent F has no such target");
	assert_string_equal(
	    describe((struct bisect_answer){.kind = BISECT_RANGE,
					    .first = 6,
					    .skipped = 2,
					    .other = 1,
					    .untested = 2,
					    .wrong = 0.004},
		     two),
	    "L fails, and F does not; of the 5 commits between them: 2 could not be built or "
	    "started, 1 fails in another way, 2 were not tried (chance that a pass misled: 0.4 %)");
	assert_string_equal(describe((struct bisect_answer){.kind = BISECT_ALL, .first = 1}, one),
			    "L fails, and is the oldest commit");
	assert_string_equal(describe((struct bisect_answer){.kind = BISECT_ALL, .first = 3}, one),
			    "L fails, and no older commit can be tested");
	assert_string_equal(
	    describe((struct bisect_answer){.kind = BISECT_ALL, .first = 1}, bounded),
	    "L, the last of the commits, fails, too");
	assert_string_equal(describe((struct bisect_answer){.kind = BISECT_NONE}, one),
			    "L does not fail");
	assert_string_equal(describe((struct bisect_answer){.kind = BISECT_UNKNOWN}, one),
			    "L could not be tested: absent");
	assert_string_equal(
	    describe((struct bisect_answer){.open = true, .kind = BISECT_RANGE, .first = 9}, two),
	    "until now: L fails, and F does not");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, journal_end)
static const struct CMUnitTest tests[] = {
    TEST(test_round_trip),
    TEST(test_hostile),
    TEST(test_miss),
    TEST(test_words),
};

UNIT_MAIN(tests)
