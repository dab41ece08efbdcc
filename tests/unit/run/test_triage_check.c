/* SPDX-License-Identifier: Apache-2.0 */
/* The targets that must pass before a crash is fixed. */
#include "tests/unit/unit.h"

#include "tests/unit/run/triage.h"

/* A crash of the targets a and b that failed in 10 of 10 replays: it must pass 4 times. */
static void put_crash(void)
{
	struct crash_sighting s = {.signature = "0123456789abcdef",
				   .target = "a",
				   .run = "r1",
				   .commit = "c1",
				   .time = 5,
				   .crash_type = "T",
				   .crash_file = "crashes/0123456789abcdef/input",
				   .input_bytes = 3,
				   .tries = 10,
				   .hits = 10};
	struct ledger *l = ledger();
	struct ledger_noted n;

	put("crashes/0123456789abcdef", "input", "abc");
	put("crashes/0123456789abcdef", "minimized", "ab");
	OK(ledger_note(l, &s, &n, e));
	s = (struct crash_sighting){
	    .signature = s.signature, .target = "b", .run = "r1", .commit = "c1", .time = 6};
	OK(ledger_note(l, &s, &n, e));
	OK(ledger_minimized(l, s.signature, "a", "crashes/0123456789abcdef/minimized", 2, e));
	OK(ledger_save(l, play.dir.fd, e));
	ledger_free(l);
}

#define SIG "0123456789abcdef"

/* --- is it fixed? ------------------------------------------------------------ */

static void test_fixed_in_all(void **state)
{
	(void)state;
	put_crash();
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.replays, 8);   /* both inputs */
	assert_int_equal(play.sum.fixed, 1); /* in this target */
	assert_string_equal(play.sum.note, "");
	expect_state(SIG, LEDGER_NEW);
	triage("a", TRIAGE_CHECK); /* already reported */
	assert_int_equal(play.replays, 0);
	triage("c", TRIAGE_CHECK); /* never found it */
	assert_int_equal(play.replays, 0);
	triage("b", TRIAGE_CHECK);
	assert_int_equal(play.replays, 8);
	assert_int_equal(play.sum.fixed, 1);
	expect_state(SIG, LEDGER_FIXED);
	assert_true(has("regressions/a/a9993e364706816aba3e25717850c26c9cd0d89d"));
	assert_true(has("regressions/b/a9993e364706816aba3e25717850c26c9cd0d89d"));
	assert_true(has("regressions/b/da23614e02469a0d7c7bd1bdab5c9c474b1904dc"));
}

/* Notes half of the passes, as a stopped run leaves them. */
static void put_passes(const char *build)
{
	struct ledger *l = ledger();

	OK(ledger_passed(l, SIG, "a", build, 3, 2, e));
	OK(ledger_save(l, play.dir.fd, e));
	ledger_free(l);
}

/* Passes on another commit do not count, nor passes of another run without a known commit. */
static void test_other_commits(void **state)
{
	(void)state;
	put_crash();
	put_passes("c2");
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.replays, 8 - 5);
	each_teardown(NULL);
	each_setup(NULL);
	put_crash();
	put_passes("c1");
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.replays, 8);
}

static void test_no_commit(void **state)
{
	(void)state;
	put_crash();
	play.commit = NULL;
	put_passes("run 20240401-000000");
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.replays, 8);
	expect_state(SIG, LEDGER_NEW);
	triage("b", TRIAGE_CHECK);
	assert_int_equal(play.replays, 8);
	expect_state(SIG, LEDGER_FIXED);
}

/* Each target has its own input: another target's input may pass in it for any reason. */
static void test_own_inputs(void **state)
{
	static const char own[] = "crashes/" SIG "/by/b/input";
	struct crash_sighting s = {.signature = SIG,
				   .target = "b",
				   .run = "r1",
				   .commit = "c1",
				   .time = 6,
				   .crash_type = "T",
				   .crash_file = own,
				   .input_bytes = 3,
				   .tries = 3,
				   .hits = 3};
	struct ledger *l;
	struct ledger_noted n;

	(void)state;
	put_crash();
	put("crashes/" SIG "/by", "x", "");
	put("crashes/" SIG "/by/b", "input", "bbb");
	l = ledger();
	OK(ledger_note(l, &s, &n, e));
	OK(ledger_save(l, play.dir.fd, e));
	ledger_free(l);
	play.failing = "/by/b/";
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.replays, 8);
	triage("b", TRIAGE_CHECK);
	expect_state(SIG, LEDGER_NEW);
	assert_false(has("regressions/b"));
	play.failing = NULL;
	play.commit = "c3";
	triage("b", TRIAGE_CHECK);
	assert_int_equal(play.replays, 11 + 11); /* and the failure's kind */
	expect_state(SIG, LEDGER_FIXED);
	assert_true(has("regressions/b/5cb138284d431abd6a053a56625ec088bfb88912"));
	assert_false(has("regressions/b/a9993e364706816aba3e25717850c26c9cd0d89d"));
}

/* The run's commit does not belong to a later binary: the crashes are replayed again, and passes
 * count for this run. */
static void test_rebuilt(void **state)
{
	(void)state;
	put_crash();
	play.commit = "c1"; /* the commit of the sighting */
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.replays, 0);
	play.rebuilt = true;
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.replays, 8);
	expect_state(SIG, LEDGER_NEW);
	triage("b", TRIAGE_CHECK);
	assert_int_equal(play.replays, 8);
	expect_state(SIG, LEDGER_FIXED);
}

/* Passes on one build do not count for the next build, even in the same run. */
static void test_rebuilt_again(void **state)
{
	(void)state;
	put_crash();
	play.rebuilt = true;
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.replays, 8);
	triage("a", TRIAGE_CHECK); /* after a pause: the same build */
	assert_int_equal(play.replays, 0);
	play.fails = "b"; /* in another way */
	triage("b", TRIAGE_CHECK);
	expect_state(SIG, LEDGER_NEW);
	play.fails = NULL;
	play.anew = true;
	triage("b", TRIAGE_CHECK);
	assert_int_equal(play.replays, 8 + 11); /* and to identify the failure */
	expect_state(SIG, LEDGER_FIXED);
}

static void test_one_still_fails(void **state)
{
	(void)state;
	put_crash();
	play.fails = "b";
	triage("a", TRIAGE_CHECK);
	triage("b", TRIAGE_CHECK); /* it fails, in another way */
	expect_state(SIG, LEDGER_NEW);
	triage("b", TRIAGE_CHECK);
	triage("a", TRIAGE_CHECK);
	expect_state(SIG, LEDGER_NEW);
	assert_false(has("regressions/b"));
}

/* A missing target is named.  It does not stop the other targets, and the crash is not fixed. */
static void test_missing_target(void **state)
{
	(void)state;
	put_crash();
	play.gone = "b";
	for (int i = 0; i < 2; i++) {
		triage("a", TRIAGE_CHECK);
		assert_int_equal(play.replays, i == 0 ? 8 : 0);
		assert_string_equal(
		    play.sum.note, "crash " SIG " passes here, but stays open: 'b', which found it "
				   "too, was not asked: it is not in this run");
		expect_state(SIG, LEDGER_NEW);
	}
	play.gone = NULL; /* the target is back */
	triage("b", TRIAGE_CHECK);
	expect_state(SIG, LEDGER_FIXED);
}

/* A changed reproducer passes, but this proves nothing. */
static void test_damaged(void **state)
{
	static const char *const files[] = {"input", "minimized"};
	static const char *const texts[] = {"", "ab", "abd", NULL};

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		each_teardown(NULL);
		each_setup(NULL);
		put_crash();
		if (texts[i / 2])
			put("crashes/" SIG, files[i % 2], i == 3 ? "ax" : texts[i / 2]);
		else
			assert_int_equal(
			    unlinkat(play.dir.fd,
				     i % 2 ? "crashes/" SIG "/minimized" : "crashes/" SIG "/input",
				     0),
			    0);
		triage("a", TRIAGE_CHECK);
		triage("b", TRIAGE_CHECK);
		assert_int_equal(play.replays, 0);
		assert_memory_equal(play.sum.note, "crash " SIG " stays open: ", 35);
		assert_non_null(strstr(play.sum.note, files[i % 2]));
		expect_state(SIG, LEDGER_NEW);
	}
}

/* A ledger may have any target name. */
static void test_hostile_target(void **state)
{
	struct ledger *l;
	struct ledger_noted n;
	struct crash_sighting s = {.signature = SIG, .target = "../../evil", .time = 7};

	(void)state;
	put_crash();
	l = ledger();
	OK(ledger_note(l, &s, &n, e));
	OK(ledger_save(l, play.dir.fd, e));
	ledger_free(l);
	triage("a", TRIAGE_CHECK);
	triage("../../evil", TRIAGE_CHECK);
	triage("b", TRIAGE_CHECK);
	expect_state(SIG, LEDGER_FIXED);
	assert_int_equal(access("/evil", F_OK), -1);
	assert_true(has("regressions/a") && !has("../evil"));
}

/* --- merged crashes ------------------------------------------------------------ */

#define OTHER "fedcba9876543210"

/* Another crash, of the target c alone, which the user merged into the first. */
static void put_merged(const char *signature, uint64_t tries, uint64_t hits)
{
	char dir[64], input[96], minimized[96];
	struct crash_sighting s = {.signature = signature,
				   .target = "c",
				   .run = "r1",
				   .commit = "c1",
				   .time = 7,
				   .crash_type = "U",
				   .crash_file = input,
				   .input_bytes = 3,
				   .tries = tries,
				   .hits = hits};
	struct ledger *l = ledger();
	struct ledger_noted n;

	snprintf(dir, sizeof(dir), "crashes/%s", signature);
	snprintf(input, sizeof(input), "%s/input", dir);
	snprintf(minimized, sizeof(minimized), "%s/minimized", dir);
	put(dir, "input", "xyz");
	put(dir, "minimized", "xy");
	OK(ledger_note(l, &s, &n, e));
	OK(ledger_minimized(l, signature, "c", minimized, 2, e));
	OK(ledger_merge(l, signature, SIG, e));
	OK(ledger_save(l, play.dir.fd, e));
	ledger_free(l);
}

/* The crash's inputs need passes by its own hit rate, in the target that has them. */
static void test_merged(void **state)
{
	static const char *const kept[] = {
	    "a9993e364706816aba3e25717850c26c9cd0d89d", /* abc, ab, xyz, xy */
	    "da23614e02469a0d7c7bd1bdab5c9c474b1904dc",
	    "66b27417d37e024c46526c2f6d358a754fc552f3",
	    "5f8459982f9f619f4b0d9af2542a2086e56a4bef",
	};

	(void)state;
	put_crash();
	put_merged(OTHER, 3, 3); /* 11 times */
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.replays, 2 * 4);
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.replays, 0);
	triage("b", TRIAGE_CHECK);
	assert_int_equal(play.replays, 2 * 4);
	expect_state(SIG, LEDGER_NEW);
	triage("c", TRIAGE_CHECK);
	assert_int_equal(play.replays, 2 * 11);
	assert_int_equal(play.sum.fixed, 1);
	expect_state(SIG, LEDGER_FIXED);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		for (const char *t = "abc"; *t; t++) {
			char path[100];

			snprintf(path, sizeof(path), "regressions/%c/%s", *t, kept[i]);
			assert_int_equal(has(path), (*t == 'c') == (i >= 2));
		}
}

/* The input fails as the merged crash, or in another way. */
static void test_merged_fails(void **state)
{
	struct crash_options o = {.target = "a"};
	struct crash_report r = {0};
	struct ledger *l;

	(void)state;
	crash_parse(slice_of(report), &o, &r);
	for (int i = 0; i < 2; i++) {
		each_teardown(NULL);
		each_setup(NULL);
		play.failing = i == 0 ? "/" OTHER "/" : r.signature;
		put_crash();
		put_merged(i == 0 ? OTHER : r.signature, 10, 10);
		for (const char *const *t = (const char *const[]){"a", "b", "c", "a", NULL}; *t;
		     t++)
			triage(*t, TRIAGE_CHECK);
		expect_state(SIG, i == 0 ? LEDGER_NEW : LEDGER_KNOWN);
		assert_false(has("regressions/c"));
		l = ledger();
		assert_string_equal(ledger_find(l, SIG)->crash_file, "crashes/" SIG "/input");
		assert_int_equal(ledger_find(l, r.signature) == ledger_find(l, SIG), i);
		ledger_free(l);
	}
	/* On the next commit it no longer fails. */
	play.failing = NULL;
	play.commit = "c3";
	for (const char *const *t = (const char *const[]){"c", "b", "a", NULL}; *t; t++)
		triage(*t, TRIAGE_CHECK);
	expect_state(SIG, LEDGER_FIXED);
	crash_report_done(&r);
}

static void test_merged_damaged(void **state)
{
	(void)state;
	put_crash();
	put_merged(OTHER, 10, 10);
	put("crashes/" OTHER, "minimized", "xx");
	triage("a", TRIAGE_CHECK);
	triage("b", TRIAGE_CHECK);
	triage("c", TRIAGE_CHECK);
	assert_int_equal(play.replays, 0);
	assert_memory_equal(play.sum.note, "crash " SIG " stays open: ", 35);
	assert_non_null(strstr(play.sum.note, OTHER "/minimized"));
	expect_state(SIG, LEDGER_NEW);
}

/* A crash that never failed again: no number of passes proves a fix, and this is reported. */
static void test_merged_never(void **state)
{
	(void)state;
	put_crash();
	put_merged(OTHER, 6, 0);
	for (const char *const *t = (const char *const[]){"a", "b", "c", NULL}; *t; t++)
		triage(*t, TRIAGE_CHECK);
	assert_string_equal(play.sum.note, "crash " SIG " passes, but stays open: " OTHER
					   ", which is merged into it, failed too seldom for any "
					   "number of passes to prove a fix");
	expect_state(SIG, LEDGER_FLAKY);
}

static void test_merged_missing_target(void **state)
{
	(void)state;
	put_crash();
	put_merged(OTHER, 10, 10);
	play.gone = "c";
	triage("b", TRIAGE_CHECK);
	triage("a", TRIAGE_CHECK);
	assert_non_null(strstr(play.sum.note, "'c', which found it too, was not asked"));
	expect_state(SIG, LEDGER_NEW);
}

/* Passes on the earlier binary do not count for this binary, in any target. */
static void test_all_rebuilt_again(void **state)
{
	(void)state;
	put_crash();
	put_merged(OTHER, 10, 10);
	play.rebuilt = true;
	play.anew = true;
	put_passes("run 20240501-103000");
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.replays, 8);
	triage("b", TRIAGE_CHECK);
	expect_state(SIG, LEDGER_NEW);
	triage("c", TRIAGE_CHECK);
	assert_int_equal(play.replays, 8);
	expect_state(SIG, LEDGER_FIXED);
}

static const struct CMUnitTest tests[] = {
    CASE(test_own_inputs),
    CASE(test_fixed_in_all),
    CASE(test_other_commits),
    CASE(test_no_commit),
    CASE(test_one_still_fails),
    CASE(test_damaged),
    CASE(test_missing_target),
    CASE(test_hostile_target),
    CASE(test_merged),
    CASE(test_merged_fails),
    CASE(test_merged_damaged),
    CASE(test_merged_never),
    CASE(test_merged_missing_target),
    CASE(test_rebuilt),
    CASE(test_rebuilt_again),
    CASE(test_all_rebuilt_again),
};

UNIT_MAIN(tests)
