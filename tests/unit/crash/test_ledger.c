/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/crash/ledgers.h"

#define SIG "0123456789abcdef"

static void test_empty(void **state)
{
	struct err e;

	(void)state;
	parse("{}");
	assert_int_equal(ledger_count(ledger), 0);
	assert_null(ledger_at(ledger, 0));
	assert_null(ledger_find(ledger, SIG));
	assert_null(ledger_record(ledger, SIG));
	assert_null(ledger_find_raw(ledger, "t", "1"));
	assert_false(ledger_dirty(ledger));
	assert_string_equal(ledger_warning(ledger), "");
	ledger_next_run(ledger, "r");
	assert_int_equal(ledger_ignore(ledger, SIG, NULL, SIZE_MAX, NULL, &e), -ENOENT);
	assert_string_equal(e.msg, "no crash '" SIG "'");
	assert_int_equal(ledger_unignore(ledger, SIG, NULL, NULL, &e), -ENOENT);
	assert_int_equal(ledger_fixed(ledger, SIG, "", 1, NULL, NULL, &e), -ENOENT);
	assert_int_equal(ledger_passed(ledger, SIG, "", NULL, 1, 1, &e), -ENOENT);
	assert_int_equal(ledger_minimized(ledger, SIG, "", "p", 1, &e), -ENOENT);
	assert_int_equal(ledger_issue(ledger, SIG, "u", &e), -ENOENT);
	assert_int_equal(ledger_merge(ledger, SIG, "x", &e), -ENOENT);
	assert_int_equal(ledger_split(ledger, SIG, &e), -ENOENT);
	assert_false(ledger_dirty(ledger));
}

static void test_first(void **state)
{
	static const char *const lines[] = {"f", "g", "h", "i"};
	static const char *const frames[] = {"f(int)", "g", "h", "4", "5", "6", "7", "8", "9"};
	struct ledger_noted n;
	const struct known_crash *c;

	(void)state;
	parse("{}");
	n = NOTE(.signature = SIG, .target = "png_fuzzer", .run = "r1", .commit = "c1",
		 .time = 1700000000, .raw_key = "00ff", .artifact = "logs/r1/crashes/a",
		 .crash_type = "Heap-buffer-overflow\nREAD 4", .kind = "asan", .access = "read",
		 .access_size = 4, .signal = "SIGSEGV", .top_frame = "f", .severity = "medium",
		 .crash_state = lines, .n_crash_state = 4, .frames = frames, .n_frames = 9,
		 .security = true, .similar = "fedcba9876543210",
		 .crash_file = "crashes/" SIG "/input", .input_bytes = 100, .tries = 3, .hits = 3);
	assert_true(n.is_new);
	assert_true(ledger_dirty(ledger));
	c = crash(SIG);
	assert_ptr_equal(n.crash, c);
	assert_ptr_equal(ledger_at(ledger, 0), c);
	assert_ptr_equal(ledger_find_raw(ledger, "png_fuzzer", "00ff"), c);
	assert_null(ledger_find_raw(ledger, "gif_fuzzer", "00ff"));
	assert_string_equal(c->fuzzer, "png_fuzzer");
	assert_string_equal(c->crash_type, "Heap-buffer-overflow\nREAD 4");
	assert_string_equal(c->kind, "asan");
	assert_string_equal(c->access, "read");
	assert_string_equal(c->signal, "SIGSEGV");
	assert_string_equal(c->top_frame, "f");
	assert_string_equal(c->severity, "medium");
	assert_string_equal(c->similar, "fedcba9876543210");
	assert_string_equal(c->crash_file, "crashes/" SIG "/input");
	assert_string_equal(c->first_seen.commit, "c1");
	assert_string_equal(c->last_seen.run, "r1");
	assert_string_equal(c->issue_url, "");
	assert_int_equal(c->first_seen.time, 1700000000);
	assert_int_equal(c->access_size, 4);
	assert_int_equal(c->crash_state.n, LEDGER_STATE_LINES);
	assert_int_equal(c->frames.n, LEDGER_FRAMES);
	assert_string_equal(c->frames.v[0], "f(int)");
	assert_int_equal(c->count, 1);
	assert_int_equal(c->n_runs, 1);
	assert_true(c->security && !c->unsymbolized);
	assert_int_equal(c->reproduction.hits, 3);
	check_state(SIG, LEDGER_NEW);
	check_text();
}

/* The table of the header; each event is made by its real calls. */
static void make_event(unsigned row)
{
	struct crash_sighting seen = {.signature = "s", .run = "r", .time = 10};

	switch (row) {
	case 0:
		seen.tries = seen.hits = 3;
		break;
	case 2:
		seen.tries = 7;
		seen.hits = 1;
		break;
	case 3:
		ledger_next_run(ledger, "later");
		return;
	case 4:
		OK(ledger_fixed(ledger, "s", "", 9, "c", "r", &oops));
		return;
	case 5:
		OK(ledger_ignore(ledger, "s", NULL, SIZE_MAX, NULL, &oops));
		return;
	case 6:
		OK(ledger_unignore(ledger, "s", NULL, NULL, &oops));
		return;
	default:
		break;
	}
	(void)note(&seen);
}

static void test_states(void **state)
{
	enum {
		N = LEDGER_NEW,
		K = LEDGER_KNOWN,
		X = LEDGER_FIXED,
		R = LEDGER_REGRESSED,
		F = LEDGER_FLAKY,
		I = LEDGER_IGNORED,
		ROWS = 7
	};
	static const unsigned char want[ROWS][LEDGER_STATE_COUNT] = {
	    {N, K, R, R, K, I}, /* seen, well */
	    {N, K, R, R, F, I}, /* seen */
	    {F, F, R, R, F, I}, /* seen, flaky */
	    {K, K, X, R, F, I}, /* next run */
	    {X, X, X, X, X, I}, /* fixed */
	    {I, I, I, I, I, I}, /* ignore */
	    {N, K, X, R, F, K}, /* unignore */
	};
	char text[200];

	(void)state;
	for (unsigned row = 0; row < ROWS; row++)
		for (enum ledger_state s = 0; s < LEDGER_STATE_COUNT; s++) {
			snprintf(text, sizeof(text),
				 "{\"s\": {\"state\": \"%s\", \"first_seen\": {\"run\": \"r\"}, "
				 "\"fixed\": {\"time\": 5}}}",
				 ledger_state_name(s));
			parse(text);
			check_state("s", s);
			make_event(row);
			if (crash("s")->state != want[row][s])
				fail_msg("row %u: %s becomes %s", row, ledger_state_name(s),
					 ledger_state_name(crash("s")->state));
			check_text();
		}
	assert_true(ledger_state_open(LEDGER_NEW) && ledger_state_open(LEDGER_KNOWN) &&
		    ledger_state_open(LEDGER_REGRESSED) && ledger_state_open(LEDGER_FLAKY));
	assert_false(ledger_state_open(LEDGER_FIXED) || ledger_state_open(LEDGER_IGNORED));
}

/* A crash that was not in the ledger. */
static void test_first_state(void **state)
{
	static const struct {
		unsigned tries, hits;
		enum ledger_state want;
	} t[] = {
	    {3, 3, LEDGER_NEW}, {0, 0, LEDGER_NEW},   {2, 1, LEDGER_NEW},
	    {6, 5, LEDGER_NEW}, {7, 1, LEDGER_FLAKY}, {6, 0, LEDGER_FLAKY},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		parse("{}");
		(void)NOTE(.signature = "s", .tries = t[i].tries, .hits = t[i].hits);
		check_state("s", t[i].want);
	}
}

static void test_known_in_the_next_run(void **state)
{
	struct ledger_noted n;

	(void)state;
	parse("{}");
	(void)NOTE(.signature = "s", .run = "r1");
	n = NOTE(.signature = "s", .run = "r1");
	assert_false(n.is_new);
	assert_int_equal(n.before, LEDGER_NEW);
	check_state("s", LEDGER_NEW); /* the same run */
	ledger_next_run(ledger, "r1");
	check_state("s", LEDGER_NEW);
	(void)NOTE(.signature = "s", .run = "r2"); /* without ledger_next_run */
	check_state("s", LEDGER_KNOWN);
	assert_string_equal(crash("s")->first_seen.run, "r1");
	assert_string_equal(crash("s")->last_seen.run, "r2");
}

/* `regress` and `crash reproduce` run known inputs: they do not change the time of the last
 * sighting. */
static void test_by_hand(void **state)
{
	(void)state;
	parse("{}");
	(void)NOTE(.signature = "s", .time = 10, .run = "r1");
	(void)NOTE(.signature = "s", .time = 20, .by_hand = true);
	assert_int_equal(crash("s")->last_seen.time, 10);
	assert_int_equal(crash("s")->count, 1);
	OK(ledger_fixed(ledger, "s", "", 30, "c", "r2", &oops));
	(void)NOTE(.signature = "s", .time = 40, .by_hand = true); /* the crash is new */
	check_state("s", LEDGER_REGRESSED);
	assert_int_equal(crash("s")->last_seen.time, 40);
}

static void test_fixed_and_back(void **state)
{
	struct ledger_noted n;

	(void)state;
	parse("{\"s\": {\"state\": \"known\"}}");
	OK(ledger_passed(ledger, "s", "", "c2", 5, 5, &oops));
	OK(ledger_fixed(ledger, "s", "", 100, "c2", "r2", &oops));
	check_state("s", LEDGER_FIXED);
	assert_int_equal(crash("s")->fixed.time, 100);
	assert_string_equal(crash("s")->fixed.commit, "c2");
	/* Collected late, from a run before the fix. */
	n = NOTE(.signature = "s", .time = 99, .run = "r1");
	check_state("s", LEDGER_FIXED);
	assert_int_equal(n.crash->count, 1);
	assert_int_equal(n.crash->reproduction.clean, 5);
	n = NOTE(.signature = "s", .time = 101, .run = "r3");
	assert_int_equal(n.before, LEDGER_FIXED);
	check_state("s", LEDGER_REGRESSED);
	assert_int_equal(n.crash->reproduction.clean, 0);
	assert_string_equal(n.crash->fixed.commit, "c2"); /* for users */
	(void)NOTE(.signature = "s", .time = 102, .run = "r4");
	check_state("s", LEDGER_REGRESSED);
	OK(ledger_fixed(ledger, "s", "", 200, "c5", "r5", &oops));
	OK(ledger_fixed(ledger, "s", "", 300, "c6", "r6", &oops)); /* it is fixed already */
	assert_int_equal(crash("s")->fixed.time, 200);
	(void)NOTE(.signature = "s", .run = "r7"); /* at an unknown time: it counts as back */
	check_state("s", LEDGER_REGRESSED);
}

static const struct known_crash *entry_of(const char *target)
{
	return ledger_find_entry(ledger, "s", target);
}

/* The run that found the crash was killed: the crash stays new until a run has counted it. */
static void test_uncounted(void **state)
{
	(void)state;
	parse("{}");
	(void)NOTE(.signature = "s", .target = "a", .run = "r1", .time = 1, .counted_by = "r1");
	(void)NOTE(.signature = "s", .target = "b", .run = "r1", .time = 1); /* by hand */
	assert_false(ledger_waits_for(entry_of("a"), "r1"));
	assert_true(ledger_waits_for(entry_of("a"), "r2"));
	assert_false(ledger_waits_for(entry_of("b"), "r2"));
	check_text();
	ledger_next_run(ledger, "r2");
	assert_int_equal(entry_of("a")->state, LEDGER_NEW);
	assert_int_equal(entry_of("b")->state, LEDGER_KNOWN);
	(void)NOTE(.signature = "s", .target = "a", .run = "r2", .time = 2, .counted_by = "r2");
	assert_int_equal(entry_of("a")->state, LEDGER_NEW);
	assert_true(ledger_waits_for(entry_of("a"), "r2"));
	ledger_counted(ledger, "b"); /* a run without the other target */
	ledger_next_run(ledger, "r3");
	assert_true(ledger_waits_for(entry_of("a"), "r3"));
	ledger_counted(ledger, "a");
	assert_false(ledger_waits_for(entry_of("a"), "r4"));
	ledger_next_run(ledger, "r4");
	assert_int_equal(entry_of("a")->state, LEDGER_KNOWN);
	check_text();
}

/* A crash that came back is counted once, too. */
static void test_uncounted_again(void **state)
{
	(void)state;
	parse("{\"s\": {\"state\": \"fixed\", \"fuzzer\": \"a\"}}");
	(void)NOTE(.signature = "s", .target = "a", .run = "r1", .time = 1, .counted_by = "r1");
	ledger_next_run(ledger, "r2");
	(void)NOTE(.signature = "s", .target = "a", .run = "r2", .time = 2, .counted_by = "r2");
	assert_int_equal(entry_of("a")->state, LEDGER_REGRESSED);
	assert_true(ledger_waits_for(entry_of("a"), "r2"));
	OK(ledger_fixed(ledger, "s", "a", 3, "c", "r2", &oops)); /* fixed before it was counted */
	assert_false(ledger_waits_for(entry_of("a"), "r3"));
	(void)NOTE(.signature = "s", .target = "a", .run = "r3", .time = 4, .counted_by = "r3");
	assert_false(ledger_waits_for(entry_of("a"), "r3"));
	OK(ledger_ignore(ledger, "s", NULL, SIZE_MAX, NULL, &oops));
	OK(ledger_unignore(ledger, "s", NULL, NULL, &oops));
	assert_false(ledger_waits_for(entry_of("a"), "r4"));
	check_text();
}

static void test_ignored(void **state)
{
	(void)state;
	parse("{\"s\": {\"state\": \"new\", \"note\": \"old\"}}");
	OK(ledger_ignore(ledger, "s", NULL, SIZE_MAX, "not ours\nwon't fix", &oops));
	assert_string_equal(crash("s")->note, "not ours\nwon't fix");
	(void)NOTE(.signature = "s", .tries = 7, .hits = 1);
	OK(ledger_fixed(ledger, "s", "", 1, NULL, NULL, &oops));
	check_state("s", LEDGER_IGNORED);
	assert_int_equal(crash("s")->count, 1);
	OK(ledger_unignore(ledger, "s", NULL, NULL, &oops));
	check_state("s", LEDGER_FLAKY); /* by its measured hit rate */
	assert_string_equal(crash("s")->note, "not ours\nwon't fix");
	OK(ledger_unignore(ledger, "s", NULL, "", &oops));
	assert_string_equal(crash("s")->note, "");
}

static void test_measured(void **state)
{
	const struct known_crash *c;

	(void)state;
	parse("{}");
	c = NOTE(.signature = "s", .crash_file = "a", .tries = 7, .hits = 1).crash;
	check_state("s", LEDGER_FLAKY);
	(void)NOTE(.signature = "s", .tries = 3, .hits = 3); /* with the same input: 4 of 10 */
	assert_int_equal(c->reproduction.tries, 10);
	assert_int_equal(c->reproduction.hits, 4);
	check_state("s", LEDGER_FLAKY);
	OK(ledger_minimized(ledger, "s", "", "m", 3, &oops));
	(void)NOTE(.signature = "s", .crash_file = "b", .input_bytes = 9, .tries = 3, .hits = 3);
	assert_int_equal(c->reproduction.tries, 3); /* with another input */
	assert_string_equal(c->crash_file, "b");
	assert_string_equal(c->minimized, "");
	check_state("s", LEDGER_KNOWN);
	for (unsigned i = 0; i < 1000; i++)
		(void)NOTE(.signature = "s", .tries = 3, .hits = 9);
	assert_in_range(c->reproduction.tries, ODDS_EXACT_MAX / 2, ODDS_EXACT_MAX);
	assert_true(c->reproduction.hits == c->reproduction.tries);
	(void)NOTE(.signature = "s", .tries = UINT64_MAX, .hits = UINT64_MAX - 1);
	assert_true(c->reproduction.tries <= 3 * ODDS_EXACT_MAX / 2);
	check_text();
}

/* Until the reproducer is minimal, and again for a new reproducer. */
static void test_minimize_waits(void **state)
{
	(void)state;
	parse("{\"old\": {\"fuzzer\": \"t\", \"state\": \"known\", \"crash_file\": \"a\"}}");
	assert_true(ledger_minimize_waits(crash("old"), "t"));
	assert_false(ledger_minimize_waits(crash("old"), "u"));
	(void)NOTE(.signature = "s", .target = "t"); /* no input was kept */
	assert_false(ledger_minimize_waits(crash("s"), "t"));
	(void)NOTE(.signature = "s", .target = "t", .crash_file = "a", .tries = 3, .hits = 3);
	OK(ledger_minimize_tried(ledger, "s", "t", 500, false, &oops));
	OK(ledger_minimize_tried(ledger, "s", "t", 700, false, &oops));
	assert_int_equal(crash("s")->minimize_ms, 1200);
	assert_true(ledger_minimize_waits(crash("s"), "t"));
	OK(ledger_ignore(ledger, "s", NULL, SIZE_MAX, NULL, &oops));
	assert_false(ledger_minimize_waits(crash("s"), "t"));
	OK(ledger_unignore(ledger, "s", NULL, NULL, &oops));
	OK(ledger_minimize_tried(ledger, "s", "t", 1, true, &oops));
	assert_false(ledger_minimize_waits(crash("s"), "t"));
	check_text();
	(void)NOTE(.signature = "s", .target = "t", .crash_file = "b", .tries = 3, .hits = 3);
	assert_true(ledger_minimize_waits(crash("s"), "t"));
	assert_int_equal(crash("s")->minimize_ms, 0);
}

/* Where a crash began and ended stays in the file, until it comes back. */
static void test_edges(void **state)
{
	const struct crash_edge began = {.kind = "commit",
					 .commit = "c1",
					 .before = "c0",
					 .author = "A \xc3\xa9",
					 .subject = "breaks it",
					 .text = "c1 fails, c0 does not",
					 .from = "c9",
					 .commits = 1,
					 .time = 981173106};
	const struct crash_edge ended = {.kind = "range", .commit = "c7", .commits = 3};

	(void)state;
	parse("{\"a\": {\"fuzzer\": \"t\", \"state\": \"known\"}}");
	OK(ledger_edge(ledger, "a", "t", false, &began, &oops));
	assert_int_equal(ledger_edge(ledger, "a", "u", false, &began, &oops), -ENOENT);
	assert_string_equal(crash("a")->culprit.subject, "breaks it");
	assert_string_equal(crash("a")->fix.commit, "");
	OK(ledger_fixed(ledger, "a", "t", 50, "c7", "r", &oops));
	OK(ledger_edge(ledger, "a", "t", true, &ended, &oops));
	check_text();
	assert_int_equal(ledger_entry(crash("a"), "t")->fix.commits, 3);
	assert_int_equal(ledger_entry(crash("a"), "t")->culprit.time, 981173106);

	(void)NOTE(.signature = "a", .target = "t", .time = 40); /* from before the fix */
	assert_string_equal(ledger_entry(crash("a"), "t")->culprit.commit, "c1");
	(void)NOTE(.signature = "a", .target = "t", .time = 60);
	assert_int_equal(ledger_entry(crash("a"), "t")->state, LEDGER_REGRESSED);
	assert_string_equal(ledger_entry(crash("a"), "t")->culprit.commit, "");
	assert_string_equal(ledger_entry(crash("a"), "t")->culprit.text, "");
	assert_int_equal(ledger_entry(crash("a"), "t")->fix.commits, 0);
	check_text();
}

/* While the file is being replaced, its size and digest are unknown. */
static void test_minimize_writes(void **state)
{
	(void)state;
	parse("{\"s\": {\"fuzzer\": \"t\", \"crash_file\": \"a\", \"minimized\": \"m\", "
	      "\"minimized_bytes\": 7, "
	      "\"minimized_sha1\": \"0123456789012345678901234567890123456789\"}}");
	OK(ledger_minimize_writes(ledger, "s", "t", &oops));
	assert_string_equal(crash("s")->minimized, "m");
	assert_int_equal(crash("s")->minimized_bytes, 0);
	assert_string_equal(crash("s")->minimized_sha1, "");
	assert_int_equal(ledger_minimize_writes(ledger, "none", "t", &oops), -ENOENT);
	assert_int_equal(ledger_minimize_tried(ledger, "none", "t", 1, true, &oops), -ENOENT);
}

static void test_passed(void **state)
{
	const struct known_crash *c;

	(void)state;
	parse("{\"s\": {\"state\": \"known\"}}");
	c = crash("s");
	OK(ledger_passed(ledger, "s", "", "c1", 3, 0, &oops));
	OK(ledger_passed(ledger, "s", "", "c1", 1, 2, &oops));
	assert_int_equal(c->reproduction.clean, 4);
	assert_int_equal(c->reproduction.clean_minimized, 2);
	OK(ledger_minimized(ledger, "s", "", "m", 7, &oops)); /* a new reproducer has no passes */
	assert_int_equal(c->reproduction.clean, 4);
	assert_int_equal(c->reproduction.clean_minimized, 0);
	assert_string_equal(c->minimized, "m");
	assert_int_equal(c->minimized_bytes, 7);
	OK(ledger_passed(ledger, "s", "", "c2", 1, 1,
			 &oops)); /* another build: counted from zero */
	assert_int_equal(c->reproduction.clean, 1);
	assert_string_equal(c->reproduction.clean_commit, "c2");
	(void)NOTE(.signature = "s");
	assert_int_equal(c->reproduction.clean, 0);
	assert_int_equal(c->reproduction.clean_minimized, 0);
	OK(ledger_passed(ledger, "s", "", NULL, UINT64_MAX, 1, &oops));
	assert_true(c->reproduction.clean == INT64_MAX);
	check_text();
}

static void test_passed_elsewhere(void **state)
{
	(void)state;
	parse("{\"s\": {\"state\": \"known\", \"fuzzer\": \"a\"}}");
	assert_int_equal(ledger_passed(ledger, "s", "b", "c", 1, 0, &oops), -ENOENT);
	assert_string_equal(oops.msg, "target 'b' did not find crash 's'");
}

static void test_described(void **state)
{
	static const char *const first[] = {"f", "g"}, *const second[] = {"x"};
	const struct known_crash *c;

	(void)state;
	parse("{}");
	c = NOTE(.signature = "s", .target = "a").crash; /* by a cheap key, without other facts */
	assert_string_equal(c->crash_type, "");
	(void)NOTE(.signature = "s", .target = "a", .crash_type = "UNKNOWN READ", .access = "read",
		   .top_frame = "f", .crash_state = first, .n_crash_state = 2, .severity = "low",
		   .similar = "s", .unsymbolized = true);
	assert_string_equal(c->crash_type, "UNKNOWN READ");
	assert_string_equal(c->similar, ""); /* not to itself */
	assert_true(c->unsymbolized);
	/* Another sighting does not rename the crash, but a worse severity counts. */
	(void)NOTE(.signature = "s", .target = "a", .crash_type = "UNKNOWN WRITE",
		   .severity = "High", .security = true, .frames = second, .n_frames = 1);
	assert_string_equal(c->crash_type, "UNKNOWN READ");
	assert_string_equal(c->severity, "High");
	assert_true(c->security && c->unsymbolized);
	assert_string_equal(c->frames.v[0], "x");
	/* A new reproducer comes with its own report. */
	(void)NOTE(.signature = "s", .target = "a", .crash_type = "SEGV", .access = "",
		   .crash_file = "p", .severity = "medium", .crash_state = second,
		   .n_crash_state = 1);
	assert_string_equal(c->crash_type, "SEGV");
	assert_string_equal(c->access, "");
	assert_string_equal(c->top_frame, "f");
	assert_string_equal(c->severity, "High");
	assert_int_equal(c->crash_state.n, 1);
	assert_int_equal(c->frames.n, 0);
	assert_true(c->security && !c->unsymbolized);
	/* Only the file changes: its facts stay. */
	(void)NOTE(.signature = "s", .crash_file = "q");
	assert_string_equal(c->crash_type, "SEGV");
	assert_string_equal(c->fuzzer, "a");
	assert_int_equal(c->targets.n, 0);
	OK(ledger_issue(ledger, "s", "https://example.org/1", &oops));
	assert_string_equal(c->issue_url, "https://example.org/1");
	check_text();
}

#define CASE(f) cmocka_unit_test_teardown(f, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_empty),
    CASE(test_first),
    CASE(test_states),
    CASE(test_first_state),
    CASE(test_known_in_the_next_run),
    CASE(test_by_hand),
    CASE(test_fixed_and_back),
    CASE(test_uncounted),
    CASE(test_uncounted_again),
    CASE(test_ignored),
    CASE(test_measured),
    CASE(test_minimize_waits),
    CASE(test_edges),
    CASE(test_minimize_writes),
    CASE(test_passed),
    CASE(test_passed_elsewhere),
    CASE(test_described),
};

UNIT_MAIN(tests)
