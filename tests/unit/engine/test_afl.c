/* SPDX-License-Identifier: Apache-2.0 */
/* AFL++: commands that we build, lines and names that we read.  The lines are those of AFL++
 * 4.04c. */
#include "tests/unit/unit.h"

#include "runner/engine/afl/afl.h"
#include "tests/unit/engine/words.h"

#include <signal.h>
#include <stdio.h>

static struct engine_state after(const char *const *lines)
{
	struct engine_state s = {0};

	for (size_t i = 0; lines[i]; i++)
		engine_afl.line(slice_of(lines[i]), &s);
	return s;
}

static void joins(const struct strv *argv, char *out, size_t room)
{
	*out = '\0';
	for (size_t i = 0; i < argv->n; i++)
		(void)snprintf(out + strlen(out), room - strlen(out), "%s%s", i ? " " : "",
			       argv->v[i]);
}

static const char *const seeds[] = {"/seeds/0", "/seeds/others", NULL};

static struct engine_fuzz job_of(void)
{
	return (struct engine_fuzz){.binary = "/target/a_fuzzer",
				    .corpus_dir = "/work/corpus",
				    .seed_dirs = seeds,
				    .artifact_dir = "/work/artifacts",
				    .max_time_s = 60,
				    .input_timeout_s = 25};
}

/* afl-fuzz reads one directory of seeds. */
static void fuzzes(void **state)
{
	struct engine_fuzz job = job_of();
	struct engine_cmd c;
	char text[1024];
	struct err e;

	(void)state;
	assert_int_equal(engine_afl.fuzz(&job, &c, &e), 0);
	joins(&c.argv, text, sizeof(text));
	assert_string_equal(text, "afl-fuzz -i /seeds/0 -o /work/artifacts -m none -t 1000+ -V 60 "
				  "-- /target/a_fuzzer");
	assert_string_equal(variable(&c.env, "AFL_HANG_TMOUT"), "25000");
	assert_string_equal(variable(&c.env, "AFL_NO_UI"), "1");
	assert_int_equal(strncmp(variable(&c.env, "PATH"), "/target:/", 9), 0);
	engine_cmd_done(&c);
}

static void fuzzes_with_all_parameters(void **state)
{
	static const char *const flags[] = {"-p=rare", "-use_value_profile=1", "-L=0", NULL};
	static const char *const env[] = {"AFL_NO_UI=0", "MINE=1", NULL};
	struct engine_fuzz job = job_of();
	struct engine_cmd c;
	char text[1024];
	struct err e;

	(void)state;
	job.dict = "/seeds/dictionary";
	job.companion = "/target/a_fuzzer.cmplog";
	job.max_len = 64;
	job.seed = 7;
	job.runs = 100;
	job.flags = flags;
	job.env = env;
	assert_int_equal(engine_afl.fuzz(&job, &c, &e), 0);
	joins(&c.argv, text, sizeof(text));
	assert_string_equal(text, "afl-fuzz -i /seeds/0 -o /work/artifacts -m none -t 1000+ -V 60 "
				  "-E 100 -s 7 -G 64 -x /seeds/dictionary "
				  "-c /target/a_fuzzer.cmplog -p rare -L 0 -- /target/a_fuzzer");
	assert_string_equal(variable(&c.env, "AFL_NO_UI"), "0");
	assert_string_equal(variable(&c.env, "MINE"), "1");
	engine_cmd_done(&c);
}

/* afl-fuzz refuses other options of ASan, and sees a report by the signal that ends it. */
static void the_sanitizers_end_by_a_signal(void **state)
{
	struct engine_fuzz job = job_of();
	struct engine_cmd c;
	const char *asan;
	struct err e;

	(void)state;
	assert_int_equal(engine_afl.fuzz(&job, &c, &e), 0);
	asan = variable(&c.env, "ASAN_OPTIONS");
	assert_non_null(strstr(asan, ":abort_on_error=1"));
	assert_non_null(strstr(asan, ":symbolize=0"));
	assert_null(strstr(asan, "abort_on_error=0"));
	assert_non_null(strstr(asan, ":detect_leaks=0"));
	assert_non_null(strstr(variable(&c.env, "MSAN_OPTIONS"), ":exit_code=86"));
	engine_cmd_done(&c);
}

static void replays(void **state)
{
	static const char *const inputs[] = {"/seeds/input", NULL};
	struct engine_replay job = {.binary = "/target/a_fuzzer",
				    .inputs = inputs,
				    .symbolizer = "/usr/bin/llvm-symbolizer"};
	struct engine_cmd c;
	char text[256];
	struct err e;

	(void)state;
	assert_int_equal(engine_afl.replay(&job, &c, &e), 0);
	joins(&c.argv, text, sizeof(text));
	assert_string_equal(text, "/target/a_fuzzer /seeds/input");
	/* The program has no handler for abort(): its sanitizer reports it. */
	assert_non_null(strstr(variable(&c.env, "ASAN_OPTIONS"), ":handle_abort=1"));
	assert_non_null(strstr(variable(&c.env, "ASAN_OPTIONS"), ":abort_on_error=0"));
	assert_non_null(strstr(variable(&c.env, "ASAN_OPTIONS"), ":symbolize=1"));
	engine_cmd_done(&c);
}

static void knows_its_flags(void **state)
{
	static const char *const good[] = {"-p=rare", "-L=0", "-l=2AT", "-a=text"};
	static const char *const bad[] = {"-p",	    "-p=",   "p=rare", "-M=main", "-runs=7",
					  "-p=-S2", "--p=x", "-o=/x",  ""};
	char why[160];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(engine_afl.flag_ok(slice_of(good[i]), why));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		*why = '\0';
		assert_false(engine_afl.flag_ok(slice_of(bad[i]), why));
		assert_true(*why);
	}
}

static void reads_fuzzer_stats(void **state)
{
	static const char *const lines[] = {
	    "start_time        : 1795847231", "execs_done        : 87074",
	    "execs_per_sec     : 6246.79",    "corpus_count      : 3",
	    "corpus_found      : 2",	      "edges_found       : 5",
	    "total_edges       : 8",	      "afl_version       : ++4.04c",
	    "a_later_key       : 7",	      NULL};
	struct engine_state s = after(lines);

	(void)state;
	assert_int_equal(s.execs, 87074);
	assert_int_equal(s.exec_per_s, 6246);
	assert_int_equal(s.corpus_units, 3);
	assert_int_equal(s.kept, 2);
	assert_int_equal(s.cov, 5);
	assert_int_equal(s.edges_total, 8);
	assert_int_equal(s.status_lines, 1);
	assert_int_equal(s.last_new_execs, 87074);
	assert_true(s.running);
}

static void refuses_impossible_numbers(void **state)
{
	static const char *const forged[] = {"execs_done        : 99999999",
					     "edges_found       : 900",
					     "total_edges       : 900",
					     "execs_done        : -7",
					     "execs_done        : 18446744073709551616",
					     "execs_done : x"};
	struct engine_state s = {.edges_most = 100, .execs_most = 1000};

	(void)state;
	for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++)
		engine_afl.line(slice_of(forged[i]), &s);
	assert_int_equal(s.refused, 3);
	assert_int_equal(s.execs, 0);
	assert_int_equal(s.cov, 0);
	assert_int_equal(s.edges_total, 0);
	assert_false(s.running);
	assert_string_equal(s.refused_text, "900 edges instrumented, its program has 100");
}

/* Debian's afl-fuzz always prints colours. */
static void reads_output(void **state)
{
	static const char *const lines[] = {
	    "\033[1;94m[*] \033[0mFuzzing test case #2 (31 total, 1 crashes saved, "
	    "perf_score=345, exec_us=212, hits=14, map=3, ascii=0)...\033[0m",
	    NULL};
	static const char *const end[] = {"\033[1;92m[+] \033[0mWe're done here. Have a nice day!",
					  NULL};

	(void)state;
	assert_int_equal(after(lines).corpus_units, 31);
	assert_false(after(lines).running); /* the statistics tell */
	assert_true(after(end).done);
}

static void reads_a_failed_start(void **state)
{
	static const char *const blind[] = {
	    "\033[?25h\033[0m\033[1;91m", "[-] PROGRAM ABORT : \033[0mNo instrumentation detected",
	    "         Location : \033[0mperform_dry_run(), src/afl-fuzz-init.c:1131", NULL};
	static const char *const other[] = {
	    "[-] PROGRAM ABORT : \033[0mAll test cases time out or crash, giving up!", NULL};
	struct engine_state s = after(blind);

	(void)state;
	assert_true(s.not_instrumented);
	assert_int_equal(engine_afl.classify(&s, 1, 0), ENGINE_NOT_INSTRUMENTED);
	s = after(other);
	assert_int_equal(s.fault, ENGINE_FAULT_ENGINE);
	assert_string_equal(s.fault_text, "afl-fuzz: All test cases time out or crash, giving up!");
	assert_int_equal(engine_afl.classify(&s, 1, 0), ENGINE_STARTUP_FAILED);
}

static void judges_the_end(void **state)
{
	static const char *const ran[] = {"edges_found       : 5", NULL};
	static const char *const done[] = {"edges_found       : 5",
					   "[+] We're done here. Have a nice day!", NULL};
	struct engine_state s = after(ran);

	(void)state;
	assert_int_equal(engine_afl.classify(&s, 0, 0), ENGINE_UNKNOWN);
	assert_int_equal(engine_afl.classify(&s, 1, 0), ENGINE_UNKNOWN);
	assert_int_equal(engine_afl.classify(&s, 0, SIGKILL), ENGINE_KILLED);
	assert_int_equal(engine_afl.classify(&s, 0, SIGSEGV), ENGINE_KILLED);
	s = after(done);
	assert_int_equal(engine_afl.classify(&s, 0, 0), ENGINE_FINISHED);
}

/* The replay's lines are those of images/init/each.h. */
static void judges_a_replay(void **state)
{
	static const char *const fine[] = {"Running: /seeds/input", "Executed /seeds/input in 3 ms",
					   NULL};
	static const char *const fails[] = {
	    "Running: /seeds/input",
	    "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000012 at pc",
	    NULL};
	static const char *const quiet[] = {"Running: /seeds/input", NULL};
	struct engine_state s = after(fine);

	(void)state;
	assert_true(s.replaying && s.done);
	assert_string_equal(s.input, "/seeds/input");
	assert_int_equal(s.inputs, 1);
	assert_int_equal(engine_afl.classify(&s, 0, 0), ENGINE_FINISHED);
	s = after(fails);
	assert_int_equal(s.fault, ENGINE_FAULT_CRASH);
	assert_int_equal(engine_afl.classify(&s, SANITIZER_EXIT, 0), ENGINE_FAULTED);
	assert_int_equal(engine_afl.classify(&s, 0, SIGABRT), ENGINE_FAULTED);
	assert_int_equal(engine_afl.classify(&s, 0, SIGKILL), ENGINE_KILLED);
	s = after(quiet);
	assert_int_equal(engine_afl.classify(&s, 0, 0), ENGINE_UNKNOWN);
	assert_int_equal(engine_afl.classify(&s, 3, 0), ENGINE_UNKNOWN);
	assert_int_equal(engine_afl.classify(&s, 0, SIGSEGV), ENGINE_KILLED);
}

static void names_files(void **state)
{
	(void)state;
	assert_int_equal(engine_afl.artifact(SLICE("id:000000,sig:06,src:000002,time:5735,"
						   "execs:25195,op:havoc,rep:4")),
			 ENGINE_ARTIFACT_CRASH);
	assert_int_equal(engine_afl.artifact(SLICE("id:000000,sig:09,src:000002")),
			 ENGINE_ARTIFACT_OOM);
	assert_int_equal(engine_afl.artifact(SLICE("id:000000,src:000002,time:3908")),
			 ENGINE_ARTIFACT_TIMEOUT);
	assert_int_equal(engine_afl.artifact(SLICE("README.txt")), ENGINE_ARTIFACT_NONE);
	assert_int_equal(engine_afl.artifact(SLICE("")), ENGINE_ARTIFACT_NONE);
	assert_true(engine_afl.input(SLICE("id:000003,src:000002+000000,time:375,op:splice,+cov")));
	assert_false(engine_afl.input(SLICE("id:000000,time:0,execs:0,orig:b6589fc6")));
	assert_false(engine_afl.input(SLICE(".state")));
}

/* No line may be taken for another, however long it is or where its colours end. */
static void survives_odd_lines(void **state)
{
	char line[2048];
	struct engine_state s = {0};

	(void)state;
	memset(line, '\033', sizeof(line));
	engine_afl.line((struct slice){line, sizeof(line)}, &s);
	memset(line, '[', sizeof(line));
	line[0] = '\033';
	engine_afl.line((struct slice){line, sizeof(line)}, &s);
	memset(line, 0, sizeof(line));
	engine_afl.line((struct slice){line, sizeof(line)}, &s);
	engine_afl.line((struct slice){line, 0}, &s);
	memset(line, 'x', sizeof(line));
	memcpy(line, "Running: ", 9);
	engine_afl.line((struct slice){line, sizeof(line)}, &s);
	assert_int_equal(strlen(s.input), sizeof(s.input) - 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fuzzes),
    cmocka_unit_test(fuzzes_with_all_parameters),
    cmocka_unit_test(the_sanitizers_end_by_a_signal),
    cmocka_unit_test(replays),
    cmocka_unit_test(knows_its_flags),
    cmocka_unit_test(reads_fuzzer_stats),
    cmocka_unit_test(refuses_impossible_numbers),
    cmocka_unit_test(reads_output),
    cmocka_unit_test(reads_a_failed_start),
    cmocka_unit_test(judges_the_end),
    cmocka_unit_test(judges_a_replay),
    cmocka_unit_test(names_files),
    cmocka_unit_test(survives_odd_lines),
};

UNIT_MAIN(tests)
