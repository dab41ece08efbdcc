/* SPDX-License-Identifier: Apache-2.0 */
/* FuzzTest: commands that we build, and what we read and judge.  Where recordings of the real
 * engine are beside the project, all of them are judged. */
#include "tests/unit/unit.h"

#include "runner/engine/fuzztest/fuzztest.h"
#include "tests/unit/engine/recorded.h"
#include "tests/unit/engine/words.h"

static void fuzzes(void **state)
{
	static const char *const seeds[] = {"/seeds/0", "/seeds/others", NULL};
	static const char *const flags[] = {"-stack_limit_kb=7", "-use_value_profile=1", NULL};
	struct engine_fuzz job = {.binary = "/target/a_test",
				  .test = "Suite.Magic",
				  .corpus_dir = "/work/corpus",
				  .seed_dirs = seeds,
				  .artifact_dir = "/work/artifacts",
				  .max_time_s = 60,
				  .input_timeout_s = 25,
				  .rss_limit_mib = 2048,
				  .runs = 9,
				  .flags = flags};
	struct engine_cmd c;
	struct err e;

	(void)state;
	assert_int_equal(engine_fuzztest.fuzz(&job, &c, &e), 0);
	check_words(&c.argv, "/target/a_test --fuzz=Suite.Magic --time_limit_per_input=25s "
			     "--rss_limit_mb=2048 --fuzz_for=60s --stack_limit_kb=7");
	check_words(&c.nest, "links /seeds/0 /tmp/fuzztest/seeds "
			     "links /seeds/others /tmp/fuzztest/seeds");
	assert_string_equal(variable(&c.env, "FUZZTEST_TESTSUITE_IN_DIR"), "/tmp/fuzztest/seeds");
	assert_string_equal(variable(&c.env, "FUZZTEST_TESTSUITE_OUT_DIR"), "/work/corpus");
	assert_string_equal(variable(&c.env, "FUZZTEST_REPRODUCERS_OUT_DIR"), "/work/artifacts");
	assert_string_equal(variable(&c.env, "FUZZTEST_MAX_FUZZING_RUNS"), "9");
	engine_cmd_done(&c);
}

static void replays_and_shortens(void **state)
{
	static const char *const inputs[] = {"/in/a", "/in/b", NULL};
	struct engine_replay job = {.binary = "/target/a_test",
				    .test = "Suite.Magic",
				    .inputs = inputs,
				    .input_timeout_s = 3};
	struct engine_shorten shorten = {.binary = "/target/a_test",
					 .test = "Suite.Magic",
					 .input = "/in/a",
					 .output = "/work/shorter"};
	struct engine_cmd c;
	struct err e;

	(void)state;
	assert_int_equal(engine_fuzztest.replay(&job, &c, &e), 0);
	check_words(&c.argv,
		    "/target/a_test --fuzz=Suite.Magic --time_limit_per_input=3s /in/a /in/b");
	check_words(&c.nest, "links - /tmp/fuzztest");
	assert_string_equal(c.input_at, "/tmp/fuzztest/input");
	assert_string_equal(variable(&c.env, "FUZZTEST_REPLAY"), "/tmp/fuzztest/input");
	assert_int_equal(c.n_inputs, 2);
	engine_cmd_done(&c);
	assert_int_equal(engine_fuzztest.shorten(&shorten, &c, &e), 0);
	check_words(&c.nest, "links - /tmp/fuzztest/smaller "
			     "save /tmp/fuzztest/smaller /work/shorter");
	assert_string_equal(variable(&c.env, "FUZZTEST_MINIMIZE_REPRODUCER"), "/in/a");
	assert_string_equal(variable(&c.env, "FUZZTEST_REPRODUCERS_OUT_DIR"),
			    "/tmp/fuzztest/smaller");
	engine_cmd_done(&c);
}

static void feed(const char *const *lines, struct engine_state *io)
{
	for (size_t i = 0; lines[i]; i++)
		engine_fuzztest.line(slice_of(lines[i]), io);
}

static void refuses_impossible_numbers(void **state)
{
	static const char *const lines[] = {
	    "[*] Corpus size:    21 | Edges covered:    900 | Total runs:  3.72e+03 | Runs/secs: 4",
	    "[*] Corpus size:    21 | Edges covered:     18 | Total runs:  3.72e+09 | Runs/secs: 4",
	    "[*] Corpus size:    21 | Edges covered:     18 | Total runs:  3.72e+99 | Runs/secs: 4",
	    "[*] Corpus size:    21 | Edges covered:     18 | Total runs:  3.7e+03 | Runs/secs: 4",
	    "Total edges: 5000",
	    NULL};
	struct engine_state s = {.edges_most = 100, .execs_most = 100000};

	(void)state;
	feed(lines, &s);
	assert_int_equal(s.refused, 3);
	assert_int_equal(s.execs, 3720);
	assert_int_equal(s.cov, 18);
	assert_int_equal(s.edges_total, 0);
}

static void knows_flags_and_names(void **state)
{
	static const char *const bad[] = {"-stack_limit_kb", "-stack_limit_kb=x", "-fuzz=A.B", ""};
	char why[160];

	(void)state;
	assert_true(engine_fuzztest.flag_ok(SLICE("-stack_limit_kb=12"), why));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(engine_fuzztest.flag_ok(slice_of(bad[i]), why));
	assert_int_equal(engine_fuzztest.artifact(SLICE("7c53053cb30380f7")),
			 ENGINE_ARTIFACT_CRASH);
	assert_int_equal(engine_fuzztest.artifact(SLICE("metadata")), ENGINE_ARTIFACT_NONE);
}

/* --- the recordings --------------------------------------------------------- */

static const struct recorded_end ends[] = {
    {"fuzz_magic", ENGINE_FAULTED},
    {"fuzz_magic_metadata", ENGINE_FAULTED},
    {"fuzz_magic_no_out_dir", ENGINE_FAULTED},
    {"fuzz_property", ENGINE_FAULTED},
    {"fuzz_timeout", ENGINE_FAULTED},
    {"fuzz_memory", ENGINE_FAULTED},
    {"fuzz_leak", ENGINE_FAULTED},
    {"replay_crash", ENGINE_FAULTED},
    {"replay_property", ENGINE_FAULTED},
    {"replay_dir_crash", ENGINE_FAULTED},
    {"replay_timeout", ENGINE_FAULTED},
    {"replay_memory", ENGINE_FAULTED},
    {"missing_art_dir", ENGINE_FAULTED},
    {"seeds_with_crash", ENGINE_FAULTED},
    {"continue_after_crash", ENGINE_FAULTED},
    {"init_fuzz_magic", ENGINE_FAULTED},
    {"init_fuzz_property", ENGINE_FAULTED},
    {"init_fuzz_timeout", ENGINE_FAULTED},
    {"init_fuzz_memory", ENGINE_FAULTED},
    {"init_replay_crash", ENGINE_FAULTED},
    {"init_replay_property", ENGINE_FAULTED},
    {"replay_wrong_type", ENGINE_STARTUP_FAILED},
    {"replay_raw_bytes", ENGINE_STARTUP_FAILED},
    {"bad_flag_value", ENGINE_STARTUP_FAILED},
    {"bad_test_name", ENGINE_STARTUP_FAILED},
    {"ambiguous_test_name", ENGINE_STARTUP_FAILED},
    {"stop_sigusr1", ENGINE_KILLED},
    {"init_stop_sigusr1", ENGINE_KILLED},
    {"stop_sigkill", ENGINE_KILLED},
    {"init_stop_sigkill", ENGINE_KILLED},
    {"replay_missing", ENGINE_FAULTED}, /* ASan's report of an abort(); not without handle_abort */
    {"init_replay_missing", ENGINE_KILLED},
    {"minimize_step1", ENGINE_FAULTED}, /* it found a smaller input */
    {"minimize_last", ENGINE_KILLED},
    {"minimize_not_a_crash", ENGINE_KILLED},
    /* Other modes, which we do not use. */
    {"list", ENGINE_STARTUP_FAILED},
    {"gtest_list", ENGINE_STARTUP_FAILED},
    {"unit_mode_all", ENGINE_FAULTED},
    {"unit_mode_one", ENGINE_STARTUP_FAILED},
    {"merge", ENGINE_UNKNOWN},
    {"merge_empty", ENGINE_STARTUP_FAILED},
    {"merge_with_crash", ENGINE_FAULTED},
};
/* A build without instrumentation. */
static const struct recorded_end unit_ends[] = {
    {"list", ENGINE_STARTUP_FAILED},
    {"fuzz_refused", ENGINE_NOT_INSTRUMENTED},
    {"run_all", ENGINE_FAULTED},
    {"run_one", ENGINE_STARTUP_FAILED},
    {"replay_crash", ENGINE_FAULTED},
    {"replay_crash_filter", ENGINE_FAULTED},
    {"init_replay_crash_filter", ENGINE_FAULTED},
};

static int recorded_file(struct slice *io)
{
	if (!slice_find(io, SLICE("new ")) || !slice_find(io, SLICE(" art/")) || io->n == 0 ||
	    slice_eq(*io, SLICE("metadata")))
		return NOT_JUDGED;
	return ENGINE_ARTIFACT_CRASH;
}

static const struct recorded recorded = {.name = "fuzztest",
					 .engine = &engine_fuzztest,
					 .ends = ends,
					 .n_ends = sizeof(ends) / sizeof(ends[0]),
					 .file = recorded_file};
static const struct recorded unit = {.name = "fuzztest_unit",
				     .engine = &engine_fuzztest,
				     .ends = unit_ends,
				     .n_ends = sizeof(unit_ends) / sizeof(unit_ends[0])};

static void judges_every_recorded_case(void **state)
{
	(void)state;
	recorded_judge_all(&recorded, 58);
	recorded_judge_all(&unit, 8);
	assert_true(recorded_files(&recorded, "fuzz_magic") >= 1);
}

static void reads_a_recorded_run(void **state)
{
	struct engine_state s = {0};

	(void)state;
	if (access(RECORDED "/expected.json", R_OK) < 0)
		skip();
	recorded_feed(&recorded, "fuzz_healthy", "stderr", &s);
	assert_true(s.running && s.done);
	assert_int_equal(s.execs, 1511530);
	assert_int_equal(s.cov, 59);
	assert_int_equal(s.edges_total, 53002);
	assert_int_equal(s.corpus_units, 110);
	assert_int_equal(s.fault, ENGINE_FAULT_NONE);
	s = (struct engine_state){0};
	recorded_feed(&recorded, "fuzz_magic", "stderr", &s);
	assert_int_equal(s.fault, ENGINE_FAULT_CRASH);
	assert_string_equal(s.fault_text, "AddressSanitizer: heap-buffer-overflow");
	assert_string_equal(s.artifact, "58955b674448fa36");
	s = (struct engine_state){0};
	recorded_feed(&recorded, "fuzz_timeout", "stderr", &s);
	assert_int_equal(s.fault, ENGINE_FAULT_TIMEOUT);
	s = (struct engine_state){0};
	recorded_feed(&recorded, "fuzz_memory", "stderr", &s);
	assert_int_equal(s.fault, ENGINE_FAULT_OOM);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fuzzes),
    cmocka_unit_test(replays_and_shortens),
    cmocka_unit_test(refuses_impossible_numbers),
    cmocka_unit_test(knows_flags_and_names),
    cmocka_unit_test(judges_every_recorded_case),
    cmocka_unit_test(reads_a_recorded_run),
};

UNIT_MAIN(tests)
