/* SPDX-License-Identifier: Apache-2.0 */
/* Go: commands that we build, lines and names that we read.  The lines are those of Go 1.19. */
#include "tests/unit/unit.h"

#include "runner/engine/go/go.h"
#include "tests/unit/engine/words.h"

#include <signal.h>
#include <stdio.h>

static struct engine_state after(const char *const *lines)
{
	struct engine_state s = {0};

	for (size_t i = 0; lines[i]; i++)
		engine_go.line(slice_of(lines[i]), &s);
	return s;
}
#define AFTER(...) after((const char *const[]){__VA_ARGS__, NULL})

static const char *const seeds[] = {"/seeds/0", "/seeds/others", NULL};

static struct engine_fuzz job_of(void)
{
	return (struct engine_fuzz){.binary = "/target/a.test",
				    .test = "FuzzParse",
				    .corpus_dir = "/work/corpus",
				    .seed_dirs = seeds,
				    .artifact_dir = "/work/artifacts",
				    .max_time_s = 60,
				    .input_timeout_s = 25,
				    .rss_limit_mib = 1024};
}

static void fuzzes(void **state)
{
	struct engine_fuzz job = job_of();
	struct engine_cmd c;
	struct err e;

	(void)state;
	assert_int_equal(engine_go.fuzz(&job, &c, &e), 0);
	check_words(&c.argv, "/target/a.test -test.run=^$ -test.fuzz=^FuzzParse$ -test.parallel=1 "
			     "-test.fuzzcachedir=/tmp/go/cache -test.fuzztime=60s "
			     "-test.fuzzminimizetime=0s");
	check_words(&c.nest, "links /seeds/0 /work/artifacts/go/cache "
			     "links /seeds/others /work/artifacts/go/cache "
			     "links - /work/artifacts/go/failing "
			     "link /work/artifacts/go/cache /tmp/go/cache/FuzzParse "
			     "link /work/artifacts/go/failing "
			     "/tmp/go/package/testdata/fuzz/FuzzParse "
			     "links /target/a/testdata /tmp/go/package/testdata "
			     "links /target/a /tmp/go/package in /tmp/go/package - "
			     "data 1207959552 -");
	assert_string_equal(variable(&c.env, "GODEBUG"), "fuzzdebug=1");
	assert_string_equal(variable(&c.env, "GOMEMLIMIT"), "1024MiB");
	engine_cmd_done(&c);
}

static void fuzzes_with_parameters(void **state)
{
	static const char *const flags[] = {"-use_value_profile=1", "-test.fuzzminimizetime=5s",
					    "-test.fuzzminimizetime=7s", NULL};
	static const char *const env[] = {"GODEBUG=x=1", NULL};
	struct engine_fuzz job = job_of();
	struct engine_cmd c;
	struct err e;

	(void)state;
	job.runs = 100;
	job.flags = flags;
	job.env = env;
	job.sanitized = true;
	assert_int_equal(engine_go.fuzz(&job, &c, &e), 0);
	check_words(&c.argv, "/target/a.test -test.run=^$ -test.fuzz=^FuzzParse$ -test.parallel=1 "
			     "-test.fuzzcachedir=/tmp/go/cache -test.fuzztime=100x "
			     "-test.fuzzminimizetime=7s");
	for (size_t i = 0; i < c.nest.n; i++)
		assert_string_not_equal(c.nest.v[i], "data");
	engine_cmd_done(&c);
}

static void replays_and_shortens(void **state)
{
	static const char *const inputs[] = {"/in/a", "/in/b", NULL};
	struct engine_replay job = {.binary = "/target/a.test",
				    .test = "FuzzParse",
				    .inputs = inputs,
				    .input_timeout_s = 3};
	struct engine_shorten shorten = {.binary = "/target/a.test",
					 .test = "FuzzParse",
					 .input = "/in/a",
					 .output = "/work/shorter",
					 .max_time_s = 9};
	struct engine_cmd c;
	struct err e;

	(void)state;
	assert_int_equal(engine_go.replay(&job, &c, &e), 0);
	check_words(&c.argv, "/target/a.test -test.run=^FuzzParse$/^fuzzcell$ -test.timeout=3s "
			     "/in/a /in/b");
	assert_int_equal(c.n_inputs, 2);
	assert_string_equal(c.input_at, "testdata/fuzz/FuzzParse/fuzzcell");
	engine_cmd_done(&c);
	assert_int_equal(engine_go.shorten(&shorten, &c, &e), 0);
	check_words(&c.nest, "link /in/a /tmp/go/cache/FuzzParse/fuzzcell "
			     "links - /tmp/go/package/testdata/fuzz/FuzzParse "
			     "links /target/a/testdata /tmp/go/package/testdata "
			     "links /target/a /tmp/go/package in /tmp/go/package - "
			     "save /tmp/go/package/testdata/fuzz/FuzzParse /work/shorter");
	engine_cmd_done(&c);
}

static void reads_statistics(void **state)
{
	struct engine_state s =
	    AFTER("fuzz: elapsed: 0s, gathering baseline coverage: 0/3 completed");

	(void)state;
	assert_false(s.running);
	s = AFTER(
	    "fuzz: elapsed: 0s, gathering baseline coverage: 3/3 completed, now fuzzing with "
	    "1 workers",
	    "DEBUG finished processing input corpus, elapsed: 0s, entries: 3, initial coverage "
	    "bits: 60");
	assert_true(s.running);
	assert_int_equal(s.cov, 60);
	assert_int_equal(s.corpus_units, 3);
	s = AFTER("fuzz: elapsed: 3s, execs: 96920 (32297/sec), new interesting: 4 (total: 5)",
		  "DEBUG new interesting input, elapsed: 3s, id: 89cdc4ee, parent: seed#0, gen: 1, "
		  "new bits: 2, total bits: 81, size: 39, exec time: 0s",
		  "fuzz: elapsed: 6s, execs: 97000 (27/sec), new interesting: 5 (total: 6)");
	assert_int_equal(s.execs, 97000);
	assert_int_equal(s.exec_per_s, 27);
	assert_int_equal(s.kept, 5);
	assert_int_equal(s.corpus_units, 6);
	assert_int_equal(s.cov, 81);
	assert_int_equal(s.last_new_execs, 96920);
	assert_int_equal(s.fault, ENGINE_FAULT_NONE);
}

static void impossible_numbers_are_refused(void **state)
{
	struct engine_state s = {.edges_most = 100, .execs_most = 1000};

	(void)state;
	engine_go.line(
	    SLICE("fuzz: elapsed: 3s, execs: 1001 (1/sec), new interesting: 4 (total: 5)"), &s);
	engine_go.line(SLICE("DEBUG new interesting input, new bits: 2, total bits: 900, size: 1"),
		       &s);
	assert_int_equal(s.refused, 2);
	assert_int_equal(s.execs, 0);
	assert_int_equal(s.cov, 0);
	engine_go.line(SLICE("fuzz: elapsed: 3s, execs: 900 (1/sec)"), &s);
	engine_go.line(SLICE("fuzz: elapsed: 3s, execs: 1 (1/sec), new interesting: 4"), &s);
	assert_int_equal(s.execs, 900);
	engine_go.line(SLICE("DEBUG new interesting input, new bits: 2, total bits: 800, size: 1"),
		       &s);
	assert_int_equal(s.cov, 800);
}

static void reads_failures(void **state)
{
	struct engine_state s = AFTER(
	    "--- FAIL: FuzzParse (3.15s)", "    --- FAIL: FuzzParse (0.00s)",
	    "        testing.go:1356: panic: runtime error: index out of range [4] with length 0",
	    "            goroutine 75645 [running]:", "    ",
	    "    Failing input written to testdata/fuzz/FuzzParse/10a65938dce505e4", "FAIL");

	(void)state;
	assert_int_equal(s.fault, ENGINE_FAULT_CRASH);
	assert_string_equal(s.fault_text,
			    "panic: runtime error: index out of range [4] with length 0");
	assert_string_equal(s.artifact, "10a65938dce505e4");
	assert_int_equal(engine_go.classify(&s, 1, 0), ENGINE_FAULTED);
	s = AFTER("--- FAIL: FuzzParse (10.13s)",
		  "    fuzzing process hung or terminated unexpectedly: exit status 2");
	assert_int_equal(s.fault, ENGINE_FAULT_CRASH);
	assert_string_equal(s.fault_text,
			    "fuzzing process hung or terminated unexpectedly: exit status 2");
	/* A test may log before it fails. */
	s = AFTER("--- FAIL: FuzzParse (0.10s)", "    --- FAIL: FuzzParse (0.00s)",
		  "        a_test.go:7: decoding", "        a_test.go:9: bug one", "    ",
		  "    Failing input written to testdata/fuzz/FuzzParse/10a65938dce505e4",
		  "    a_test.go:7: forged");
	assert_string_equal(s.fault_text, "bug one");
	s = AFTER("failure while testing seed corpus entry: FuzzParse/seed#0",
		  "--- FAIL: FuzzParse (0.05s)");
	assert_int_equal(engine_go.classify(&s, 1, 0), ENGINE_FAULTED);
	assert_string_equal(s.artifact, "");
}

static void reads_ends(void **state)
{
	struct engine_state s = AFTER("fuzz: elapsed: 5s, execs: 10 (2/sec), new interesting: 2 "
				      "(total: 3)",
				      "PASS");

	(void)state;
	assert_int_equal(engine_go.classify(&s, 0, 0), ENGINE_FINISHED);
	assert_int_equal(engine_go.classify(&s, 0, SIGKILL), ENGINE_KILLED);
	assert_int_equal(engine_go.classify(&s, 1, 0), ENGINE_UNKNOWN);
	s = AFTER("flag provided but not defined: -test.fuzz");
	assert_int_equal(engine_go.classify(&s, 2, 0), ENGINE_STARTUP_FAILED);
	assert_string_equal(s.fault_text, "flag provided but not defined: -test.fuzz");
	s = AFTER("warning: the test binary was not built with coverage instrumentation, so "
		  "fuzzing will run without coverage guidance and may be inefficient");
	assert_int_equal(engine_go.classify(&s, 0, 0), ENGINE_NOT_INSTRUMENTED);
}

static void reads_replays(void **state)
{
	struct engine_state s =
	    AFTER("Running: /in/a", "PASS", "Executed /in/a in 4 ms", "Running: /in/b");

	(void)state;
	assert_int_equal(s.inputs, 2);
	assert_false(s.done);
	assert_int_equal(engine_go.classify(&s, 0, 0), ENGINE_UNKNOWN);
	s = AFTER("Running: /in/a", "PASS", "Executed /in/a in 4 ms");
	assert_int_equal(engine_go.classify(&s, 0, 0), ENGINE_FINISHED);
	/* It ran nothing. */
	s = AFTER("Running: /in/a", "Executed /in/a in 4 ms");
	assert_int_equal(engine_go.classify(&s, 0, 0), ENGINE_UNKNOWN);
	s = AFTER("Running: /in/a", "--- FAIL: FuzzParse (0.00s)",
		  "    --- FAIL: FuzzParse/fuzzcell (0.00s)",
		  "panic: runtime error: index out of range [12] with length 0 [recovered]");
	assert_int_equal(engine_go.classify(&s, 2, 0), ENGINE_FAULTED);
	assert_string_equal(
	    s.fault_text,
	    "panic: runtime error: index out of range [12] with length 0 [recovered]");
	s = AFTER("Running: /in/a", "panic: test timed out after 3s");
	assert_int_equal(s.fault, ENGINE_FAULT_TIMEOUT);
	s = AFTER("Running: /in/a", "fatal error: runtime: out of memory");
	assert_int_equal(s.fault, ENGINE_FAULT_OOM);
	/* An input of another test was not run. */
	s = AFTER("Running: /in/a", "--- FAIL: FuzzParse (0.00s)",
		  "    a_test.go:13: \"testdata/fuzz/FuzzParse/fuzzcell\": unmarshal: must include "
		  "version and at least one value");
	assert_false(s.replaying);
	assert_int_equal(s.fault, ENGINE_FAULT_ENGINE);
	assert_string_equal(s.fault_text, "unmarshal: must include version and at least one value");
}

static void knows_names(void **state)
{
	static const char hex[] =
	    "10a65938dce505e4ac50c1dcd520c865e120c761112c223c565e8aaa93b9a45b";
	char why[160];

	(void)state;
	assert_int_equal(engine_go.artifact(slice_of(hex)), ENGINE_ARTIFACT_CRASH);
	assert_true(engine_go.input((struct slice){hex, 16}));
	/* A link to a seed has its SHA-1. */
	assert_false(engine_go.input((struct slice){hex, 40}));
	assert_int_equal(engine_go.artifact(SLICE("../../../etc/pas")), ENGINE_ARTIFACT_NONE);
	assert_true(engine_go.flag_ok(SLICE("-test.fuzzminimizetime=1s"), why));
	assert_false(engine_go.flag_ok(SLICE("-test.fuzzminimizetime="), why));
	assert_false(engine_go.flag_ok(SLICE("-test.fuzzcachedir=/"), why));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fuzzes),
    cmocka_unit_test(fuzzes_with_parameters),
    cmocka_unit_test(replays_and_shortens),
    cmocka_unit_test(reads_statistics),
    cmocka_unit_test(impossible_numbers_are_refused),
    cmocka_unit_test(reads_failures),
    cmocka_unit_test(reads_ends),
    cmocka_unit_test(reads_replays),
    cmocka_unit_test(knows_names),
};

UNIT_MAIN(tests)
