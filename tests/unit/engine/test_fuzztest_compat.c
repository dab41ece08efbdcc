/* SPDX-License-Identifier: Apache-2.0 */
/* FuzzTest's compatibility mode: libFuzzer's commands behind the name of a test, and what the real
 * engine printed. */
#include "tests/unit/unit.h"

#include "runner/engine/fuzztest/fuzztest.h"
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "tests/unit/engine/recorded.h"
#include "tests/unit/engine/words.h"

static const char test_name[] = "Suite.Magic";

/* The command is libFuzzer's, but for two words behind the program. */
static void check_command(const struct engine_cmd *plain, const struct engine_cmd *with)
{
	assert_int_equal(with->argv.n, plain->argv.n + 2);
	assert_string_equal(with->argv.v[0], plain->argv.v[0]);
	assert_string_equal(with->argv.v[1], "--fuzz=Suite.Magic");
	assert_string_equal(with->argv.v[2], "--");
	for (size_t i = 1; i < plain->argv.n; i++)
		assert_string_equal(with->argv.v[i + 2], plain->argv.v[i]);
}

#define CHECK_COMMAND(what_, job_)                                                          \
	do {                                                                                \
		struct engine_cmd plain, with;                                              \
		struct err why;                                                             \
                                                                                            \
		assert_int_equal(engine_libfuzzer.what_(&(job_), &plain, &why), 0);         \
		assert_int_equal(engine_fuzztest_libfuzzer.what_(&(job_), &with, &why), 0); \
		check_command(&plain, &with);                                               \
		engine_cmd_done(&plain);                                                    \
		engine_cmd_done(&with);                                                     \
	} while (0)

static void commands_name_the_test(void **state)
{
	static const char *const inputs[] = {"/in/a", NULL};
	static const char *const bad[] = {"-artifact_prefix=/", NULL};
	struct engine_fuzz fuzz = {.binary = "/target/a_test",
				   .test = test_name,
				   .corpus_dir = "/work/corpus",
				   .artifact_dir = "/work/artifacts",
				   .max_time_s = 60};
	struct engine_replay replay = {
	    .binary = "/target/a_test", .test = test_name, .inputs = inputs};
	struct engine_measure measure = {.binary = "/target/a_test",
					 .test = test_name,
					 .control = "/in/control",
					 .artifact_dir = "/tmp"};
	struct engine_shorten shorten = {
	    .binary = "/target/a_test", .test = test_name, .input = "/in/a", .output = "/out/b"};
	struct engine_cmd c;
	struct err e;

	(void)state;
	CHECK_COMMAND(fuzz, fuzz);
	CHECK_COMMAND(replay, replay);
	CHECK_COMMAND(measure, measure);
	CHECK_COMMAND(shorten, shorten);
	assert_int_equal(engine_fuzztest_libfuzzer.fuzz(&fuzz, &c, &e), 0);
	assert_string_equal(variable(&c.env, "FUZZTEST_REPRODUCERS_OUT_DIR"), "/work/artifacts");
	engine_cmd_done(&c);
	fuzz.flags = bad;
	assert_true(engine_fuzztest_libfuzzer.fuzz(&fuzz, &c, &e) < 0);
}

/* FuzzTest handles abort(): libFuzzer reports nothing, and the signal ends the process. */
static void a_property_is_a_failure(void **state)
{
	static const char *const lines[] = {
	    "INFO: seed corpus: files: 1 min: 29b max: 29b total: 29b rss: 41Mb",
	    "#2\tINITED cov: 33 ft: 34 corp: 1/29b exec/s: 0 rss: 43Mb",
	    "=== BUG FOUND!",
	    "a_test.cc:47: Counterexample found for Suite.Property.",
	    "/work/artifacts/0123456789abcdef",
	    NULL};
	struct engine_state s = {0};

	(void)state;
	for (size_t i = 0; lines[i]; i++)
		engine_fuzztest_libfuzzer.line(slice_of(lines[i]), &s);
	assert_true(s.running);
	assert_int_equal(s.fault, ENGINE_FAULT_CRASH);
	assert_string_equal(s.artifact, "0123456789abcdef");
	assert_non_null(strstr(s.fault_text, "Counterexample"));
	assert_int_equal(engine_fuzztest_libfuzzer.classify(&s, 0, SIGABRT), ENGINE_FAULTED);
	assert_int_equal(engine_fuzztest_libfuzzer.artifact(slice_of(s.artifact)),
			 ENGINE_ARTIFACT_CRASH);
	s.fault = ENGINE_FAULT_NONE; /* no report: a signal alone proves nothing */
	*s.artifact = '\0';
	assert_int_equal(engine_fuzztest_libfuzzer.classify(&s, 0, SIGABRT), ENGINE_KILLED);
}

static const struct recorded_end ends[] = {
    {"fuzz_magic", ENGINE_FAULTED},
    {"fuzz_magic_no_rep_dir", ENGINE_FAULTED},
    {"fuzz_property", ENGINE_FAULTED},
    {"init_fuzz_property", ENGINE_FAULTED},
    {"fuzz_timeout", ENGINE_FAULTED},
    {"fuzz_memory", ENGINE_FAULTED},
    {"fuzz_leak", ENGINE_FAULTED},
    {"replay_crash", ENGINE_FAULTED},
    {"replay_crash_env", ENGINE_FAULTED}, /* it fuzzed */
    {"minimize_plain", ENGINE_FAULTED},
    {"list", ENGINE_STARTUP_FAILED},
    {"replay_missing", ENGINE_STARTUP_FAILED},
    {"missing_corpus_dir", ENGINE_STARTUP_FAILED},
    {"bad_test_name", ENGINE_STARTUP_FAILED},
    {"stop_file", ENGINE_NOT_INSTRUMENTED}, /* two runs */
    {"stop_sigint", ENGINE_UNKNOWN},	    /* FuzzTest's handler; we send SIGUSR1 */
    {"stop_sigterm", ENGINE_UNKNOWN},
    {"stop_sighup", ENGINE_UNKNOWN},
    {"stop_sigkill", ENGINE_KILLED},
    /* Modes and arguments that we do not use. */
    {"merge_plain", ENGINE_KILLED},
    {"minimize_wrapped", ENGINE_STARTUP_FAILED},
    {"no_double_dash", ENGINE_KILLED},
};

/* FuzzTest's reproducers, and libFuzzer's artifacts. */
static int recorded_file(struct slice *io)
{
	struct slice rep = *io;

	if (slice_find(&rep, SLICE("new ")) && slice_find(&rep, SLICE(" rep/")) && rep.n > 0) {
		*io = rep;
		return ENGINE_ARTIFACT_CRASH;
	}
	if (!slice_find(io, SLICE("new ")) || !slice_find(io, SLICE(" art/")) || io->n == 0)
		return NOT_JUDGED;
	return io->p[0] == 't'	 ? ENGINE_ARTIFACT_TIMEOUT
	       : io->p[0] == 'o' ? ENGINE_ARTIFACT_OOM
	       : io->p[0] == 'l' ? ENGINE_ARTIFACT_LEAK
	       : io->p[0] == 's' ? ENGINE_ARTIFACT_SLOW
				 : ENGINE_ARTIFACT_CRASH;
}

static const struct recorded recorded = {.name = "fuzztest_compat",
					 .engine = &engine_fuzztest_libfuzzer,
					 .ends = ends,
					 .n_ends = sizeof(ends) / sizeof(ends[0]),
					 .file = recorded_file};

static void judges_every_recorded_case(void **state)
{
	(void)state;
	recorded_judge_all(&recorded, 29);
	assert_true(recorded_files(&recorded, "fuzz_property") >= 2);
	assert_true(recorded_files(&recorded, "init_fuzz_property") >= 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(commands_name_the_test),
    cmocka_unit_test(a_property_is_a_failure),
    cmocka_unit_test(judges_every_recorded_case),
};

UNIT_MAIN(tests)
