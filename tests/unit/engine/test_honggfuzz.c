/* SPDX-License-Identifier: Apache-2.0 */
/* honggfuzz: commands that we build, and what we read and judge.  Where recordings of the real
 * engine are beside the project, all of them are judged. */
#include "tests/unit/unit.h"

#include "runner/engine/honggfuzz/honggfuzz.h"
#include "tests/unit/engine/recorded.h"

static void joins(const struct strv *argv, char *out, size_t room)
{
	*out = '\0';
	for (size_t i = 0; i < argv->n; i++)
		(void)snprintf(out + strlen(out), room - strlen(out), "%s%s", i ? " " : "",
			       argv->v[i]);
}

static void fuzzes(void **state)
{
	static const char *const seeds[] = {"/seeds/0", NULL};
	static const char *const flags[] = {"-mutations_per_run=3", "-use_value_profile=1", NULL};
	struct engine_fuzz job = {.binary = "/target/a_fuzzer",
				  .corpus_dir = "/work/corpus",
				  .seed_dirs = seeds,
				  .artifact_dir = "/work/artifacts",
				  .max_time_s = 60,
				  .input_timeout_s = 25};
	struct engine_cmd c;
	char text[1024];
	struct err e;

	(void)state;
	assert_int_equal(engine_honggfuzz.fuzz(&job, &c, &e), 0);
	joins(&c.argv, text, sizeof(text));
	assert_string_equal(text, "honggfuzz -v -P -n 1 -i /seeds/0 --output /work/corpus "
				  "-W /work/artifacts/ws --run_time 60 -t 25 -T -- "
				  "/target/a_fuzzer");
	engine_cmd_done(&c);
	job.runs = 7;
	job.max_len = 64;
	job.dict = "/seeds/dictionary";
	job.flags = flags;
	assert_int_equal(engine_honggfuzz.fuzz(&job, &c, &e), 0);
	joins(&c.argv, text, sizeof(text));
	assert_non_null(
	    strstr(text, " -T -N 7 -F 64 -w /seeds/dictionary --mutations_per_run 3 -- "));
	engine_cmd_done(&c);
}

static void knows_its_flag(void **state)
{
	static const char *const bad[] = {"-mutations_per_run",
					  "-mutations_per_run=",
					  "-mutations_per_run=soon",
					  "-n=2",
					  "-runs=3",
					  ""};
	char why[160];

	(void)state;
	assert_true(engine_honggfuzz.flag_ok(SLICE("-mutations_per_run=12"), why));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(engine_honggfuzz.flag_ok(slice_of(bad[i]), why));
}

static struct engine_state after(const char *const *lines, struct engine_state s)
{
	for (size_t i = 0; lines[i]; i++)
		engine_honggfuzz.line(slice_of(lines[i]), &s);
	return s;
}

static void refuses_impossible_numbers(void **state)
{
	static const char *const lines[] = {
	    "Sz:9 Tm:41us (i/b/h/e/p/c) New:0/0/0/1/0/0, Cur:0/0/0/900/0/2062",
	    "Sz:9 Tm:41us (i/b/h/e/p/c) New:0/0/0/1/0/0, Cur:0/0/0/-1/0/2062",
	    "Sz:9 Tm:41us (i/b/h/e/p/c) New:0/0/0/1/0/0, Cur:0/0/0",
	    "Summary iterations:437164 time:21 speed:20817 crashes_count:0 timeout_count:0 "
	    "new_units_added:92 slowest_unit_ms:8 guard_nb:1027 branch_coverage_percent:2",
	    NULL};
	struct engine_state s =
	    after(lines, (struct engine_state){.edges_most = 100, .execs_most = 1000});

	(void)state;
	assert_int_equal(s.refused, 3);
	assert_int_equal(s.cov, 0);
	assert_int_equal(s.execs, 0);
	assert_int_equal(s.edges_total, 0);
}

/* --- the recordings --------------------------------------------------------- */

static const struct recorded_end ends[] = {
    {"missing_corpus_dir", ENGINE_STARTUP_FAILED},
    {"missing_target", ENGINE_STARTUP_FAILED},
    {"bad_flag", ENGINE_STARTUP_FAILED},
    {"help", ENGINE_STARTUP_FAILED},
    {"version", ENGINE_STARTUP_FAILED},
    {"not_a_target", ENGINE_NOT_INSTRUMENTED},
    {"merge_empty", ENGINE_NOT_INSTRUMENTED},	    /* no input, so it saw no edge */
    {"fuzz_magic_exit_upon_crash", ENGINE_UNKNOWN}, /* 42, by a flag that we do not use */
    {"bad_flag_value", ENGINE_KILLED},
    {"stop_sighup", ENGINE_KILLED},
    {"init_stop_sighup", ENGINE_KILLED},
    {"stop_sigusr1", ENGINE_KILLED},
    {"init_stop_sigusr1", ENGINE_KILLED},
    {"stop_sigkill", ENGINE_KILLED},
    {"init_stop_sigkill", ENGINE_KILLED},
    {"replay_crash", ENGINE_FAULTED},
    {"replay_two_files", ENGINE_FAULTED},
    {"replay_crash_abort", ENGINE_FAULTED},
    {"init_replay_crash_abort", ENGINE_KILLED}, /* recorded without our handle_abort */
    {"replay_dir", ENGINE_UNKNOWN},
    {"replay_hang", ENGINE_KILLED},
};

static int recorded_file(struct slice *io)
{
	if (!slice_find(io, SLICE(" ws/")) || io->n == 0 || memmem(io->p, io->n, ".fuzz.", 6))
		return NOT_JUDGED;
	if (io->n < 5 || memcmp(io->p + io->n - 5, ".fuzz", 5) != 0)
		return ENGINE_ARTIFACT_NONE;
	return memcmp(io->p, "SIGVTALRM", 9) == 0 ? ENGINE_ARTIFACT_TIMEOUT : ENGINE_ARTIFACT_CRASH;
}

static const struct recorded recorded = {.name = "honggfuzz",
					 .engine = &engine_honggfuzz,
					 .ends = ends,
					 .n_ends = sizeof(ends) / sizeof(ends[0]),
					 .file = recorded_file};

static void judges_every_recorded_case(void **state)
{
	(void)state;
	recorded_judge_all(&recorded, 46);
	assert_true(recorded_files(&recorded, "fuzz_magic") >= 2);
	assert_true(recorded_files(&recorded, "fuzz_timeout_as_crash") >= 1);
}

static void reads_a_recorded_run(void **state)
{
	struct engine_state s = {0};

	(void)state;
	if (access(RECORDED "/expected.json", R_OK) < 0)
		skip();
	recorded_feed(&recorded, "fuzz_healthy", "stderr", &s);
	assert_true(s.running && s.done);
	assert_true(s.execs > 100000);
	assert_true(s.cov >= 21);
	assert_true(s.edges_total > 1000);
	assert_int_equal(s.fault, ENGINE_FAULT_NONE);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fuzzes),
    cmocka_unit_test(knows_its_flag),
    cmocka_unit_test(refuses_impossible_numbers),
    cmocka_unit_test(judges_every_recorded_case),
    cmocka_unit_test(reads_a_recorded_run),
};

UNIT_MAIN(tests)
