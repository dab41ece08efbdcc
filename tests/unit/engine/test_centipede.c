/* SPDX-License-Identifier: Apache-2.0 */
/* Centipede: commands that we build, and what we read and judge.  Where recordings of the real
 * engine are beside the project, all of them are judged. */
#include "tests/unit/unit.h"

#include "runner/engine/centipede/centipede.h"
#include "tests/unit/engine/recorded.h"
#include "tests/unit/engine/words.h"

#include <errno.h>

static void fuzzes(void **state)
{
	static const char *const seeds[] = {"/seeds/0", "/seeds/others", NULL};
	static const char *const flags[] = {"-batch_size=7", "-use_value_profile=1", NULL};
	struct engine_fuzz job = {.binary = "/target/a_fuzzer",
				  .corpus_dir = "/work/corpus",
				  .seed_dirs = seeds,
				  .artifact_dir = "/work/artifacts",
				  .max_time_s = 60,
				  .input_timeout_s = 25,
				  .rss_limit_mib = 2048};
	struct engine_cmd c;
	struct err e;

	(void)state;
	assert_int_equal(engine_centipede.fuzz(&job, &c, &e), 0);
	check_words(&c.argv,
		    "centipede --workdir=/work/artifacts/wd --binary=/target/a_fuzzer "
		    "--corpus_dir=/work/corpus,/seeds/0,/seeds/others --symbolizer_path=/dev/null "
		    "--objdump_path=/dev/null --stop_after=60s --timeout_per_input=25 "
		    "--rss_limit_mb=2048 --exit_on_crash=0 --persistent_mode=0");
	engine_cmd_done(&c);
	job.runs = 7;
	job.seed = 3;
	job.max_len = 64;
	job.dict = "/seeds/dictionary";
	job.flags = flags;
	assert_int_equal(engine_centipede.fuzz(&job, &c, &e), 0);
	check_words(
	    &c.argv,
	    "centipede --workdir=/work/artifacts/wd --binary=/target/a_fuzzer "
	    "--corpus_dir=/work/corpus,/seeds/0,/seeds/others --symbolizer_path=/dev/null "
	    "--objdump_path=/dev/null --stop_after=60s --timeout_per_input=25 "
	    "--rss_limit_mb=2048 --num_runs=7 --seed=3 --max_len=64 "
	    "--dictionary=/seeds/dictionary --exit_on_crash=0 --persistent_mode=0 --batch_size=7");
	engine_cmd_done(&c);
	job.rss_limit_mib = 192; /* of a cell of 256 MiB */
	assert_int_equal(engine_centipede.fuzz(&job, &c, &e), -ERANGE);
	assert_non_null(strstr(e.msg, "512MiB"));
}

/* The program writes "<input>-features", and inputs are read-only. */
static void replays_where_it_may_write(void **state)
{
	static const char *const inputs[] = {"/in/a", "/in/b", NULL};
	struct engine_replay job = {.binary = "/target/a_fuzzer", .inputs = inputs};
	struct engine_cmd c;
	struct err e;

	(void)state;
	assert_int_equal(engine_centipede.replay(&job, &c, &e), 0);
	check_words(&c.nest, "in /tmp/centipede -");
	check_words(&c.argv, "/target/a_fuzzer input /in/a /in/b");
	assert_string_equal(c.input_at, "input");
	assert_int_equal(c.n_inputs, 2);
	engine_cmd_done(&c);
}

static void knows_flags_and_names(void **state)
{
	static const char *const bad[] = {"-batch_size",    "-batch_size=", "batch_size=1",
					  "--batch_size=1", "-binary=/x",   ""};
	char why[160];

	(void)state;
	assert_true(engine_centipede.flag_ok(SLICE("-max_corpus_size=12"), why));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(engine_centipede.flag_ok(slice_of(bad[i]), why));
	assert_int_equal(
	    engine_centipede.artifact(SLICE("d7dacae2c968388960bf8970080a980ed5c5dcb7")),
	    ENGINE_ARTIFACT_CRASH);
	assert_int_equal(engine_centipede.artifact(SLICE("corpus.000000")), ENGINE_ARTIFACT_NONE);
}

static void refuses_impossible_numbers(void **state)
{
	struct engine_state s = {.edges_most = 100, .execs_most = 100000};

	(void)state;
	engine_centipede.line(SLICE("x.cc:367] [S0.5000] pulse: ft: 24 cov: 600 corp: 18/18 d0/f0"),
			      &s);
	engine_centipede.line(SLICE("x.cc:367] [S0.500000] pulse: ft: 24 cov: 6 corp: 18/18"), &s);
	engine_centipede.line(SLICE("x.cc:367] [S0.] pulse: ft: 24 cov: 6 corp: 18/18"), &s);
	assert_int_equal(s.refused, 2);
	assert_int_equal(s.execs, 5000);
	assert_int_equal(s.cov, 0);
}

/* --- the recordings --------------------------------------------------------- */

static const struct recorded_end ends[] = {
    /* Other modes than fuzzing, which we do not use. */
    {"minimize", ENGINE_STARTUP_FAILED},
    {"minimize_not_a_crash", ENGINE_STARTUP_FAILED},
    {"distill", ENGINE_STARTUP_FAILED},
    {"corpus_to_files", ENGINE_STARTUP_FAILED},
    {"corpus_from_files", ENGINE_STARTUP_FAILED},
    {"crashes_to_files", ENGINE_STARTUP_FAILED},
    {"help", ENGINE_STARTUP_FAILED},
    {"helpfull", ENGINE_STARTUP_FAILED},
    {"version", ENGINE_STARTUP_FAILED},
    {"distill_empty", ENGINE_STARTUP_FAILED},
    {"corpus_to_files_no_dir", ENGINE_STARTUP_FAILED},
    {"missing_corpus_dir", ENGINE_STARTUP_FAILED},
    {"init_missing_corpus_dir", ENGINE_STARTUP_FAILED},
    {"missing_target", ENGINE_STARTUP_FAILED},
    {"bad_flag", ENGINE_STARTUP_FAILED},
    {"bad_flag_value", ENGINE_STARTUP_FAILED},
    {"bad_dictionary", ENGINE_STARTUP_FAILED},
    {"replay_crash", ENGINE_FAULTED},
    {"replay_crash_abort", ENGINE_FAULTED},
    {"replay_files_crash", ENGINE_FAULTED},
    {"replay_missing", ENGINE_UNKNOWN},
    {"replay_dir", ENGINE_UNKNOWN},
    {"not_a_target", ENGINE_NOT_INSTRUMENTED},
    {"replay_hang", ENGINE_KILLED},
    {"stop_sigterm", ENGINE_KILLED},
    {"stop_sighup", ENGINE_KILLED},
    {"stop_sigusr1", ENGINE_KILLED},
    {"init_stop_sigterm", ENGINE_KILLED},
    {"init_stop_sigusr1", ENGINE_KILLED},
    {"stop_sigkill", ENGINE_KILLED},
    {"init_stop_sigkill", ENGINE_KILLED},
    {"init_replay_crash_abort", ENGINE_KILLED}, /* recorded without our handle_abort */
};

/* Crashes, and other files of its work directory. */
static int recorded_file(struct slice *io)
{
	struct slice other = *io;

	if (slice_find(io, SLICE(" wd/crashes.000000/")) && io->n > 0)
		return ENGINE_ARTIFACT_CRASH;
	*io = other;
	return slice_find(io, SLICE(" wd/")) && io->n > 0 && !memchr(io->p, '/', io->n)
		   ? (int)ENGINE_ARTIFACT_NONE
		   : NOT_JUDGED;
}

static const struct recorded recorded = {.name = "centipede",
					 .engine = &engine_centipede,
					 .ends = ends,
					 .n_ends = sizeof(ends) / sizeof(ends[0]),
					 .file = recorded_file};

static void judges_every_recorded_case(void **state)
{
	(void)state;
	recorded_judge_all(&recorded, 53);
	assert_true(recorded_files(&recorded, "fuzz_magic") >= 2);
	assert_true(recorded_files(&recorded, "fuzz_timeout_seed") >= 1);
}

static void reads_a_recorded_run(void **state)
{
	struct engine_state s = {0};

	(void)state;
	if (access(RECORDED "/expected.json", R_OK) < 0)
		skip();
	recorded_feed(&recorded, "fuzz_magic", "stderr", &s);
	assert_true(s.running && s.done);
	assert_int_equal(s.execs, 1823584);
	assert_int_equal(s.cov, 10);
	assert_int_equal(s.ft, 44);
	assert_int_equal(s.corpus_units, 49);
	/* The reports of the crashes that it printed are no end. */
	assert_int_equal(s.fault, ENGINE_FAULT_NONE);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fuzzes),
    cmocka_unit_test(replays_where_it_may_write),
    cmocka_unit_test(knows_flags_and_names),
    cmocka_unit_test(refuses_impossible_numbers),
    cmocka_unit_test(judges_every_recorded_case),
    cmocka_unit_test(reads_a_recorded_run),
};

UNIT_MAIN(tests)
