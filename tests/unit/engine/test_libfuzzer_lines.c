/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/engine/libfuzzer/libfuzzer.h"

/* Compares the numbers first, and texts only if the row has them. */
struct row {
	const char *line;
	struct engine_state want;
};

static void same(const char *line, const struct engine_state *got, const struct engine_state *want)
{
	struct engine_state g, w;

	memcpy(&g, got, sizeof(g)); /* with padding: both start as zeros */
	memcpy(&w, want, sizeof(w));
	if (memcmp(&g.execs, &w.execs, offsetof(struct engine_state, running)) != 0)
		fail_msg("numbers of: %s", line);
	if (g.running != w.running || g.done != w.done || g.interrupted != w.interrupted ||
	    g.not_instrumented != w.not_instrumented)
		fail_msg("flags of: %s", line);
	if (g.fault != w.fault || strcmp(g.fault_text, w.fault_text) != 0)
		fail_msg("%s: fault %d '%s'", line, (int)g.fault, g.fault_text);
	if (strcmp(g.artifact, w.artifact) != 0)
		fail_msg("%s: artifact '%s'", line, g.artifact);
	if (g.final.seen != w.final.seen || g.final.execs != w.final.execs ||
	    g.final.exec_per_s != w.final.exec_per_s || g.final.new_units != w.final.new_units ||
	    g.final.slowest_s != w.final.slowest_s || g.final.peak_rss_mib != w.final.peak_rss_mib)
		fail_msg("final statistics of: %s", line);
}

static void check(const struct row *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct engine_state got = {0};

		engine_libfuzzer.line(slice_of(t[i].line), &got);
		same(t[i].line, &got, &t[i].want);
	}
}

#define CHECK(t) check(t, sizeof(t) / sizeof((t)[0]))

/* A status line with the number of runs, and its effect on other state. */
#define AT(n) .execs = (n), .status_lines = 1, .running = true

static void status_lines(void **state)
{
	static const struct row t[] = {
	    {"#206\tNEW    cov: 3 ft: 4 corp: 2/6b lim: 7 exec/s: 5 rss: 30Mb L: 5/5 MS: 1 CMP-",
	     {AT(206), .cov = 3, .ft = 4, .corpus_units = 2, .corpus_bytes = 6, .lim = 7,
	      .exec_per_s = 5, .rss_mib = 30, .last_new_execs = 206, .kept = 1, .kept_by_cmp = 1}},
	    {"#2\tINITED exec/s: 0 rss: 41Mb", {AT(2), .rss_mib = 41}},
	    {"#2\tINITED exec/s: 0 rss: 41MB", {AT(2), .rss_mib = 41}},
	    {"#3\tREDUCE corp: 1/9Kb rss: 1024Kb",
	     {AT(3), .corpus_units = 1, .corpus_bytes = 9216, .rss_mib = 1}},
	    {"#3\tRELOAD corp: 1/2KB", {AT(3), .corpus_units = 1, .corpus_bytes = 2048}},
	    {"#3\tNEW corp: 1/3Mb", {AT(3), .corpus_units = 1, .corpus_bytes = 3145728}},
	    {"#3\tNEW corp: 1/4B", {AT(3), .corpus_units = 1, .corpus_bytes = 4}},
	    {"#9\tDONE   cov: 1", {AT(9), .done = true, .cov = 1, .last_new_execs = 9}},
	    /* While the initial corpus is read, and in the inner process of a merge. */
	    {"#8\tpulse  cov: 1 ft: 1",
	     {.execs = 8, .status_lines = 1, .cov = 1, .ft = 1, .last_new_execs = 8}},
	    {"#8\tpulse  lim: 4", {AT(8), .lim = 4}},
	    {"#8\tLOADED ft: 1", {.execs = 8, .status_lines = 1, .ft = 1}},
	    {"#8\tREAD units: 5", {.execs = 8, .status_lines = 1}},
	    /* A partial line of the target before it, colours, a carriage return. */
	    {"progress: 50%#4\tNEW    ft: 2", {AT(4), .ft = 2}},
	    {"\r10 %\r#4\tNEW    ft: 2\r", {AT(4), .ft = 2}},
	    {"\033[1m\033[0;31m#4\tNEW    ft: 2", {AT(4), .ft = 2}},
	    {"# #1 #2\t#3\tNEW ft: 2", {AT(3), .ft = 2}},
	    /* An invalid field is ignored, the others count. */
	    {"#4\tNEW cov: -1 ft: 2", {AT(4), .ft = 2}},
	    {"#4\tNEW cov: 99999999999999999999 ft: 2", {AT(4), .ft = 2}},
	    {"#4\tNEW cov: 9007199254740993 ft: 2", {AT(4), .ft = 2}},
	    {"#4\tNEW cov: 1x ft: 2 corp: 3/x exec/s: ", {AT(4), .ft = 2}},
	    {"#4\tNEW corp: 3/9007199254740992Kb ft: 2", {AT(4), .ft = 2}},
	    {"#4\tNEW rss: 30 ft: 2", {AT(4), .ft = 2}},
	    {"#4\tNEW rss: 30Mbit ft: 2", {AT(4), .ft = 2}},
	    {"#4\tNEW news: 5 ft: 2 odd", {AT(4), .ft = 2}},
	    {"#4\tNEW cov:", {AT(4)}},
	    /* Words of the target that libFuzzer quotes. */
	    {"#4\tNEW ft: 2 MS: 1 CMP- DE: \"a cov: 99 ft: 99\"-",
	     {AT(4), .ft = 2, .kept = 1, .kept_by_cmp = 1}},
	    /* The mutations that made an input. */
	    {"#4\tNEW ft: 2 L: 1/1 MS: 3 ChangeBit-ManualDict-CMP- DE: \"a\"-\"b\"-",
	     {AT(4), .ft = 2, .kept = 1, .kept_by_dict = 1, .kept_by_cmp = 1}},
	    {"#4\tREDUCE ft: 2 MS: 1 PersAutoDict- DE: \"ManualDict-\"-",
	     {AT(4), .ft = 2, .kept = 1}},
	    {"#4\tNEW ft: 2 MS: 0 ", {AT(4), .ft = 2, .kept = 1}},
	    {"#4\tNEW ft: 2 MS: x CMP-", {AT(4), .ft = 2}},
	    /* No status lines. */
	    {"#4 NEW cov: 3", {0}},
	    {"#4\tNEWS cov: 3", {0}},
	    {"#4\t", {0}},
	    {"#\tNEW cov: 3", {0}},
	    {"#-4\tNEW cov: 3", {0}},
	    {"#99999999999999999999\tNEW cov: 3", {0}},
	    {"#4: cov: 5 ft: 5 corp: 4 exec/s 216007 oom/timeout/crash: 0/0/0", {0}},
	    {"#", {0}},
	    {"", {0}},
	};

	(void)state;
	CHECK(t);
}

static void information(void **state)
{
	static const struct row t[] = {
	    {"INFO: Loaded 1 modules   (32 inline 8-bit counters): 32 [0x5, 0x6), ",
	     {.edges_total = 32}},
	    {"INFO: Loaded 2 modules (77 guards): 70 [0x5, 0x6), ", {.edges_total = 77}},
	    {"INFO: Loaded 1 PC tables (33 PCs): 33 [0x5,0x6), ", {.edges_total = 33}},
	    {"INFO: Loaded 1 modules   (", {0}},
	    {"INFO: Loaded x modules   (5 inline", {0}},
	    {"INFO: Loaded", {0}},
	    {"INFO: -max_len is not provided; libFuzzer will not generate inputs larger than 4096 "
	     "bytes",
	     {.max_len = 4096}},
	    {"INFO: seed corpus: files: 4 min: 5b max: 5b total: 20b rss: 29Mb", {.seed_files = 4}},
	    {"INFO:        3 files found in /c", {.seed_files = 3}},
	    {"INFO:        3 files lost in /c", {0}},
	    {"INFO: A corpus is not provided, starting from an empty corpus", {0}},
	    {"Done 6793322 runs in 21 second(s)", {.execs = 6793322, .done = true}},
	    {"Done 5 things", {0}},
	    {"Dictionary: 12 entries", {.dict_entries = 12}},
	    {"Dictionary: 12 entries of ours", {0}},
	    {"Dictionary: many entries", {0}},
	    {"stat::number_of_executed_units: 7", {.final = {.seen = true, .execs = 7}}},
	    {"stat::average_exec_per_sec:     8", {.final = {.seen = true, .exec_per_s = 8}}},
	    {"stat::new_units_added:          9", {.final = {.seen = true, .new_units = 9}}},
	    {"stat::slowest_unit_time_sec:    6", {.final = {.seen = true, .slowest_s = 6}}},
	    {"stat::peak_rss_mb:              2\r", {.final = {.seen = true, .peak_rss_mib = 2}}},
	    {"stat::peak_rss_mb:              2../../media/x.c", {0}},
	    {"stat::peak_rss_mb:              -2", {0}},
	    {"stat::peak_rss_mb:", {0}},
	    {"stat::other: 3", {0}},
	    {"==7== INFO: libFuzzer: exiting as requested", {.done = true}},
	    {"==7== libFuzzer: run interrupted; exiting", {.interrupted = true}},
	    {"half a line==7== libFuzzer: run interrupted; exiting", {.interrupted = true}},
	};

	(void)state;
	CHECK(t);
}

static void collected_over_lines(void **state)
{
	struct engine_state s = {0};

	(void)state;
	libfuzzer_line(SLICE("INFO:        3 files found in /a"), &s);
	libfuzzer_line(SLICE("INFO:        4 files found in /b"), &s);
	assert_int_equal(s.seed_files, 7);
	libfuzzer_line(SLICE("INFO: seed corpus: files: 6 min: 1b"), &s);
	assert_int_equal(s.seed_files, 6);
	libfuzzer_line(SLICE("INFO: Loaded 1 modules   (32 inline 8-bit counters): "), &s);
	libfuzzer_line(SLICE("INFO: Loaded 1 PC tables (33 PCs): "), &s);
	assert_int_equal(s.edges_total, 32);
	libfuzzer_line(SLICE("#10\tNEW cov: 5"), &s);
	libfuzzer_line(SLICE("#20\tNEW cov: 5 ft: 9"), &s);
	assert_int_equal(s.last_new_execs, 10);
	libfuzzer_line(SLICE("#30\tpulse  exec/s: 3"), &s);
	assert_int_equal(s.cov, 5);
	assert_int_equal(s.execs, 30);
	assert_int_equal(s.last_new_execs, 10);
	assert_int_equal(s.status_lines, 3);
	libfuzzer_line(SLICE("#40\tREDUCE cov: 6"), &s);
	assert_int_equal(s.last_new_execs, 40);
}

static void not_instrumented_until_covered(void **state)
{
	struct engine_state s = {0};

	(void)state;
	libfuzzer_line(SLICE("WARNING: no interesting inputs were found so far. Is the code "
			     "instrumented for coverage?"),
		       &s);
	assert_true(s.not_instrumented);
	assert_int_equal(s.fault, ENGINE_FAULT_NONE);
	libfuzzer_line(SLICE("#10\tpulse  corp: 1/1b lim: 4"), &s);
	assert_true(s.not_instrumented);
	libfuzzer_line(SLICE("#20\tNEW cov: 1"), &s);
	assert_false(s.not_instrumented);
	libfuzzer_line(SLICE("WARNING: no interesting inputs were found so far. Is the code "
			     "instrumented for coverage?"),
		       &s);
	assert_false(s.not_instrumented); /* forged: it has coverage */
}

/* No byte is special: NUL, high bytes, anything after a known beginning. */
static void any_bytes(void **state)
{
	static const char *const starts[] = {
	    "#",
	    "#1\tNEW cov: ",
	    "INFO: Loaded ",
	    "INFO: Loaded 1 modules (",
	    "INFO: ",
	    "Done ",
	    "stat::peak_rss_mb:",
	    "==1==ERROR: AddressSanitizer: ",
	    "Sanitizer: ",
	    "==1== ERROR: libFuzzer: ",
	    "x: runtime error: ",
	    "Test unit written to ",
	    "ParseDictionaryFile: error in line ",
	    "\033[",
	};
	char b[80];

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		size_t n = strlen(starts[i]);

		for (int c = 0; c < 256; c++) {
			for (size_t tail = 0; tail < 3; tail++) {
				struct engine_state s = {0};

				memcpy(b, starts[i], n);
				memset(b + n, c, tail);
				libfuzzer_line((struct slice){b, n + tail}, &s);
				assert_true(strlen(s.fault_text) < sizeof(s.fault_text));
			}
		}
	}
}

/* Lines of a program with 103 counters, after a possible line. */
static void impossible_numbers_are_refused(void **state)
{
	static const struct {
		const char *line, *why;
		uint64_t edges;
	} t[] = {
	    {"#9\tNEW cov: 104 ft: 5", "104 edges reached, its program has 103", 104},
	    {"x#9\tNEW cov: 343172 lim: 3 MS: 1 CMP-", "343172 edges reached, its program has 103",
	     343172},
	    {"INFO: Loaded 1 modules   (104 inline 8-bit counters): 104",
	     "104 edges instrumented, its program has 103", 104},
	    {"INFO: Loaded 1 PC tables (104 PCs): 104",
	     "104 edges instrumented, its program has 103", 104},
	    {"#9\tNEW cov: 3 ft: 2097153", "2097153 features, its engine has room for 2097152", 0},
	    {"#9\tNEW cov: 3 corp: 11/20b", "11 inputs in its corpus after 9 executions", 0},
	    {"INFO: -max_len is not provided; libFuzzer will not generate inputs larger than "
	     "1048577 bytes",
	     "inputs of 1048577 bytes, its engine makes none above 1048576 by itself", 0},
	    {"#50001\tNEW cov: 3 corp: 50001/9Mb", "50001 executions, its CPU time allows 50000",
	     0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct engine_state s = {.edges_most = 103, .execs_most = 50000}, was;

		libfuzzer_line(slice_of("#7\tNEW cov: 103 ft: 2097152 corp: 8/8b lim: 9"), &s);
		assert_int_equal(s.refused, 0);
		was = s;
		libfuzzer_line(slice_of(t[i].line), &s);
		assert_int_equal(s.refused, 1);
		assert_int_equal(s.refused_edges, t[i].edges);
		assert_string_equal(s.refused_text, t[i].why);
		same(t[i].line, &s, &was);
	}
}

/* The start and the end of fuzzing are no numbers. */
static void a_refused_line_begins_and_ends(void **state)
{
	struct engine_state s = {.edges_most = 103, .execs_most = 50000};

	(void)state;
	libfuzzer_line(slice_of("#2\tINITED cov: 104"), &s);
	assert_true(s.running);
	assert_false(s.done);
	libfuzzer_line(slice_of("#2\tDONE cov: 104"), &s);
	assert_true(s.done);
	assert_int_equal(s.refused, 2);
	s.done = false;
	libfuzzer_line(slice_of("Done 50001 runs in 2 second(s)"), &s);
	assert_true(s.done);
	assert_int_equal(s.refused, 3);
	assert_int_equal(s.execs, 0);
}

static void say_all(const char *text, struct engine_state *io)
{
	struct slice in = slice_of(text), line;

	while (scan_line(&in, &line))
		libfuzzer_line(line, io);
}

#define HEAD                                                              \
	"INFO: Running with entropic power schedule (0xFF, 100).\n"       \
	"INFO: Seed: 1060626477\n"                                        \
	"INFO: Loaded 1 modules   (5 inline 8-bit counters): 5 [0, 5),\n" \
	"INFO: Loaded 1 PC tables (5 PCs): 5 [5,9),\n"
#define INITED "#2\tINITED cov: 2 ft: 2 corp: 1/1b exec/s: 0 rss: 30Mb\n"

/* An input that executes /proc/self/exe, by what libFuzzer 14 to 19 print. */
static void a_second_start_is_seen(void **state)
{
	static const struct {
		const char *before, *then;
		bool restarted;
	} t[] = {
	    {HEAD, INITED, false},
	    {HEAD, HEAD, false},     /* before its first input: allowed */
	    {HEAD HEAD, HEAD, true}, /* repeated: an input of its corpus does this */
	    {HEAD HEAD, INITED "INFO: Seed: 7\n", false},
	    {HEAD INITED, HEAD, true},
	    {HEAD INITED, "half a line" INITED, true},
	    {HEAD INITED "#9\tNEW    cov: 3 corp: 2/2b lim: 4\n", HEAD INITED, true},
	    {HEAD "Running: a\nExecuted a in 0 ms\nRunning: b\n", HEAD "Running: a\n", true},
	    /* A target's own output, and other lines of the engine. */
	    {HEAD INITED, "INFO: Seed: 7\n", false},
	    {HEAD INITED, "INFO: Loaded 3 modules of the game\n", false},
	    {HEAD INITED, "INFO: Seed: 7\nINFO: Loaded 3 modules of the game\n", false},
	    {HEAD INITED, "INFO: Loaded 1 modules   (5 inline 8-bit counters): 5\n", false},
	    {"INFO: Seed: 1\nINFO: Seed: 2\nINFO: Seed: 3\n" HEAD, INITED, false},
	    {HEAD INITED, "#9\tRELOAD cov: 3\n#10\tDONE   cov: 3\n", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct engine_state s = {0};

		print_message("# %zu\n", i);
		say_all(t[i].before, &s);
		assert_false(s.restarted);
		say_all(t[i].then, &s);
		assert_int_equal(s.restarted, t[i].restarted);
		assert_string_equal(s.input, strstr(t[i].before, "Running: b") ? "b" : "");
	}
}

/* Such a line is parsed again when the bound has changed. */
static void a_refused_start_is_no_start(void **state)
{
	struct engine_state s = {.edges_most = 1};

	(void)state;
	say_all(INITED, &s);
	s.edges_most = 9;
	say_all(INITED, &s);
	assert_int_equal(s.refused, 1);
	assert_false(s.restarted);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(status_lines),
    cmocka_unit_test(information),
    cmocka_unit_test(collected_over_lines),
    cmocka_unit_test(not_instrumented_until_covered),
    cmocka_unit_test(any_bytes),
    cmocka_unit_test(impossible_numbers_are_refused),
    cmocka_unit_test(a_refused_line_begins_and_ends),
    cmocka_unit_test(a_second_start_is_seen),
    cmocka_unit_test(a_refused_start_is_no_start),
};

UNIT_MAIN(tests)
