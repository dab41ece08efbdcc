/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/engine/libfuzzer/libfuzzer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

static const char *const seeds[] = {"/seeds/a", "/seeds/b", NULL};

static struct engine_fuzz job_of(const char *const *flags)
{
	return (struct engine_fuzz){
	    .binary = "/out/t",
	    .corpus_dir = "/job/corpus",
	    .seed_dirs = seeds,
	    .artifact_dir = "/job/artifacts",
	    .max_time_s = 60,
	    .input_timeout_s = 25,
	    .rss_limit_mib = 400,
	    .flags = flags,
	};
}

static void expect(const struct strv *got, const char *const *want)
{
	size_t n = 0;

	for (; want[n]; n++) {
		assert_true(n < got->n);
		assert_string_equal(got->v[n], want[n]);
	}
	assert_int_equal(got->n, n);
	assert_null(got->v[n]);
}

static void plain_command(void **state)
{
	static const char *const want[] = {"/out/t",
					   "-artifact_prefix=/job/artifacts/",
					   "-max_total_time=60",
					   "-timeout=25",
					   "-rss_limit_mb=400",
					   "-print_final_stats=1",
					   "-print_funcs=0",
					   "-reload=0",
					   "/job/corpus",
					   "/seeds/a",
					   "/seeds/b",
					   NULL};
	struct engine_fuzz job = job_of(NULL);
	struct engine_cmd c;
	struct err e;

	(void)state;
	assert_int_equal(engine_libfuzzer.fuzz(&job, &c, &e), 0);
	expect(&c.argv, want);
	engine_cmd_done(&c);
	assert_null(c.argv.v);
	assert_null(c.env.v);
}

static void chosen_values(void **state)
{
	static const char *const want[] = {"/out/t",
					   "-artifact_prefix=/job/artifacts/",
					   "-max_total_time=2147483647",
					   "-timeout=25",
					   "-rss_limit_mb=2147483647",
					   "-print_final_stats=1",
					   "-print_funcs=0",
					   "-reload=0",
					   "-dict=/out/t.dict",
					   "-max_len=64",
					   "-seed=1",
					   "-runs=2147483647",
					   "/job/corpus",
					   NULL};
	struct engine_fuzz job = job_of(NULL);
	struct engine_cmd c;
	struct err e;

	(void)state;
	job.seed_dirs = NULL;
	job.max_time_s = UINT64_C(1) << 40;
	job.rss_limit_mib = UINT64_MAX;
	job.dict = "/out/t.dict";
	job.max_len = 64;
	job.seed = UINT64_C(1) << 32; /* must not become 0, which means a random seed */
	job.runs = UINT64_MAX;
	assert_int_equal(engine_libfuzzer.fuzz(&job, &c, &e), 0);
	expect(&c.argv, want);
	assert_int_equal(c.max_len, 64);
	engine_cmd_done(&c);
}

/* Other ways to fuzz; a flag of the user comes before them. */
static void strategies_are_flags(void **state)
{
	static const char *const flags[] = {"-len_control=7", NULL};
	static const char *const want[] = {"-mutate_depth=1", "-entropic=0", "-use_value_profile=1",
					   "-len_control=7"};
	struct engine_fuzz job = job_of(flags);
	struct engine_cmd c;
	struct err e;

	(void)state;
	job.few_mutations = job.even_choice = job.any_length = job.value_profile = true;
	assert_int_equal(engine_libfuzzer.fuzz(&job, &c, &e), 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		unsigned n = 0;

		for (size_t k = 0; k < c.argv.n; k++)
			n += strcmp(c.argv.v[k], want[i]) == 0;
		assert_int_equal(n, 1);
	}
	for (size_t k = 0; k < c.argv.n; k++)
		assert_string_not_equal(c.argv.v[k], "-len_control=0");
	engine_cmd_done(&c);
}

static void the_persons_flag_wins_once(void **state)
{
	static const char *const flags[] = {"-max_len=10", "-use_value_profile=1", "-max_len=20",
					    "-max=1", NULL};
	static const char *const want[] = {"/out/t",
					   "-artifact_prefix=/job/artifacts/",
					   "-max_total_time=60",
					   "-timeout=25",
					   "-rss_limit_mb=400",
					   "-print_final_stats=1",
					   "-print_funcs=0",
					   "-reload=0",
					   "-use_value_profile=1",
					   "-max_len=20",
					   "-max=1",
					   "/job/corpus",
					   "/seeds/a",
					   "/seeds/b",
					   NULL};
	struct engine_fuzz job = job_of(flags);
	struct engine_cmd c;
	struct err e;

	(void)state;
	job.max_len = 64;
	assert_int_equal(engine_libfuzzer.fuzz(&job, &c, &e), 0);
	expect(&c.argv, want);
	assert_int_equal(c.max_len, 20);
	engine_cmd_done(&c);
}

static void odd_lengths_are_the_engines_choice(void **state)
{
	static const char *const odd[] = {"-max_len=0", "-max_len=", "-max_len=7x", "-max_len=-1",
					  "-max_len=2147483648"};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		const char *const flags[] = {odd[i], NULL};
		struct engine_fuzz job = job_of(flags);
		struct engine_cmd c;
		struct err e;

		assert_int_equal(engine_libfuzzer.fuzz(&job, &c, &e), 0);
		assert_int_equal(c.max_len, 0);
		engine_cmd_done(&c);
	}
}

static void a_refused_flag_is_an_error(void **state)
{
	static const char *const flags[] = {"-max_len=10", "-fork=2", NULL};
	struct engine_fuzz job = job_of(flags);
	struct engine_cmd c = {0};
	struct err e;

	(void)state;
	assert_int_equal(engine_libfuzzer.fuzz(&job, &c, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "libFuzzer command of '/out/t': flag '-fork=2': "));
	assert_null(c.argv.v);
}

static void artifact_names(void **state)
{
	static const struct {
		const char *name;
		enum engine_artifact want;
	} t[] = {
	    {"crash-510e70573bca51a824e345d5cff7448f740203fb", ENGINE_ARTIFACT_CRASH},
	    {"timeout-510e70573bca51a824e345d5cff7448f740203fb", ENGINE_ARTIFACT_TIMEOUT},
	    {"oom-510e70573bca51a824e345d5cff7448f740203fb", ENGINE_ARTIFACT_OOM},
	    {"leak-510e70573bca51a824e345d5cff7448f740203fb", ENGINE_ARTIFACT_LEAK},
	    {"slow-unit-510e70573bca51a824e345d5cff7448f740203fb", ENGINE_ARTIFACT_SLOW},
	    {"510e70573bca51a824e345d5cff7448f740203fb", ENGINE_ARTIFACT_NONE},
	    {"crash-510e70573bca51a824e345d5cff7448f740203f", ENGINE_ARTIFACT_NONE},
	    {"crash-510e70573bca51a824e345d5cff7448f740203fb0", ENGINE_ARTIFACT_NONE},
	    {"crash-510E70573BCA51A824E345D5CFF7448F740203FB", ENGINE_ARTIFACT_NONE},
	    {"crash-../e70573bca51a824e345d5cff7448f740203fb", ENGINE_ARTIFACT_NONE},
	    {"minimized-from-510e70573bca51a824e345d5cff7448f740203fb", ENGINE_ARTIFACT_NONE},
	    {"crash-", ENGINE_ARTIFACT_NONE},
	    {"", ENGINE_ARTIFACT_NONE},
	};
	static const char nul[] = "crash-510e70573bca51a824e345d5cff7448f740203f\0";

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_int_equal(engine_libfuzzer.artifact(slice_of(t[i].name)), t[i].want);
	assert_int_equal(engine_libfuzzer.artifact((struct slice){nul, 46}), ENGINE_ARTIFACT_NONE);
}

/* Names of saved artifacts; in a cell's directory they are not accepted. */
static void saved_names(void **state)
{
	static const char sha1[] = "510e70573bca51a824e345d5cff7448f740203fb";

	(void)state;
	for (enum engine_artifact a = ENGINE_ARTIFACT_CRASH; a <= ENGINE_ARTIFACT_SYSCALL; a++) {
		bool ours = a == ENGINE_ARTIFACT_PIDS || a == ENGINE_ARTIFACT_SYSCALL;
		char name[80];

		snprintf(name, sizeof(name), "%s-%s", engine_artifact_name(a), sha1);
		assert_int_equal(engine_saved(slice_of(name)), a);
		assert_int_equal(engine_libfuzzer.artifact(slice_of(name)),
				 ours ? ENGINE_ARTIFACT_NONE : a);
		name[strlen(name) - 1] = '\0';
		assert_int_equal(engine_saved(slice_of(name)), ENGINE_ARTIFACT_NONE);
		name[strlen(name) - 1] = '/';
		assert_int_equal(engine_saved(slice_of(name)), ENGINE_ARTIFACT_NONE);
	}
	assert_null(engine_artifact_name(ENGINE_ARTIFACT_NONE));
}

#define CRASH_FILE "crash-510e70573bca51a824e345d5cff7448f740203fb"
#define SLOW_FILE  "slow-unit-510e70573bca51a824e345d5cff7448f740203fb"

static void classifies(void **state)
{
	static const struct {
		const char *what;
		struct engine_state s;
		int code, signo;
		enum engine_end want;
	} t[] = {
	    {"clean", {.done = true, .running = true}, 0, 0, ENGINE_FINISHED},
	    {"done without inputs", {.done = true}, 0, 0, ENGINE_FINISHED},
	    {"blind", {.done = true, .not_instrumented = true}, 0, 0, ENGINE_NOT_INSTRUMENTED},
	    {"blind, yet covered",
	     {.done = true, .not_instrumented = true, .cov = 1},
	     0,
	     0,
	     ENGINE_FINISHED},
	    {"_exit(0)", {.running = true}, 0, 0, ENGINE_UNKNOWN},
	    {"_exit(0) at start", {0}, 0, 0, ENGINE_STARTUP_FAILED},
	    {"forged report, _exit(0)",
	     {.running = true, .fault = ENGINE_FAULT_CRASH},
	     0,
	     0,
	     ENGINE_UNKNOWN},
	    {"report", {.running = true, .fault = ENGINE_FAULT_CRASH}, 76, 0, ENGINE_FAULTED},
	    {"report on a seed", {.fault = ENGINE_FAULT_LEAK}, 77, 0, ENGINE_FAULTED},
	    {"timeout", {.running = true, .fault = ENGINE_FAULT_TIMEOUT}, 70, 0, ENGINE_FAULTED},
	    {"oom", {.running = true, .fault = ENGINE_FAULT_OOM}, 71, 0, ENGINE_FAULTED},
	    {"report lost, artifact named",
	     {.running = true, .artifact = CRASH_FILE},
	     77,
	     0,
	     ENGINE_FAULTED},
	    {"a slow unit is no evidence",
	     {.running = true, .artifact = SLOW_FILE},
	     77,
	     0,
	     ENGINE_UNKNOWN},
	    {"_exit(77)", {.running = true}, 77, 0, ENGINE_UNKNOWN},
	    {"_exit(77) at start", {0}, 77, 0, ENGINE_STARTUP_FAILED},
	    {"LSan cannot trace",
	     {.running = true, .fault = ENGINE_FAULT_ENGINE},
	     76,
	     0,
	     ENGINE_UNKNOWN},
	    {"usage", {.fault = ENGINE_FAULT_ENGINE}, 1, 0, ENGINE_STARTUP_FAILED},
	    {"usage, silent", {0}, 1, 0, ENGINE_STARTUP_FAILED},
	    {"blind, LLVM 14",
	     {.running = true, .not_instrumented = true, .fault = ENGINE_FAULT_ENGINE},
	     1,
	     0,
	     ENGINE_NOT_INSTRUMENTED},
	    {"file size", {.running = true, .fault = ENGINE_FAULT_ENGINE}, 1, 0, ENGINE_FAULTED},
	    {"old runtime", {.running = true, .fault = ENGINE_FAULT_CRASH}, 1, 0, ENGINE_FAULTED},
	    {"_exit(1)", {.running = true}, 1, 0, ENGINE_UNKNOWN},
	    {"term", {.running = true, .interrupted = true}, 72, 0, ENGINE_INTERRUPTED},
	    {"term at start", {.interrupted = true}, 72, 0, ENGINE_STARTUP_FAILED},
	    {"term in an input",
	     {.replaying = true, .interrupted = true},
	     72,
	     0,
	     ENGINE_INTERRUPTED},
	    {"_exit(72)", {.running = true}, 72, 0, ENGINE_UNKNOWN},
	    {"_exit(5)", {.running = true}, 5, 0, ENGINE_UNKNOWN},
	    {"forged report, _exit(5)",
	     {.running = true, .fault = ENGINE_FAULT_CRASH},
	     5,
	     0,
	     ENGINE_UNKNOWN},
	    {"exit(3) at start", {0}, 3, 0, ENGINE_STARTUP_FAILED},
	    {"killed", {.running = true}, 0, SIGKILL, ENGINE_KILLED},
	    {"killed after a forged report",
	     {.running = true, .fault = ENGINE_FAULT_CRASH},
	     0,
	     SIGKILL,
	     ENGINE_KILLED},
	    {"killed at start", {0}, 0, SIGKILL, ENGINE_KILLED},
	    {"hangup", {.running = true}, 0, SIGHUP, ENGINE_KILLED},
	    {"raw segv at start", {0}, 0, SIGSEGV, ENGINE_STARTUP_FAILED},
	    {"raw segv", {.running = true}, 0, SIGSEGV, ENGINE_KILLED},
	    {"report, then abort",
	     {.running = true, .fault = ENGINE_FAULT_CRASH},
	     0,
	     SIGABRT,
	     ENGINE_FAULTED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		enum engine_end got = engine_libfuzzer.classify(&t[i].s, t[i].code, t[i].signo);

		if (got != t[i].want)
			fail_msg("%s: %d, not %d", t[i].what, (int)got, (int)t[i].want);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(plain_command),
    cmocka_unit_test(chosen_values),
    cmocka_unit_test(strategies_are_flags),
    cmocka_unit_test(the_persons_flag_wins_once),
    cmocka_unit_test(odd_lengths_are_the_engines_choice),
    cmocka_unit_test(a_refused_flag_is_an_error),
    cmocka_unit_test(artifact_names),
    cmocka_unit_test(saved_names),
    cmocka_unit_test(classifies),
};

UNIT_MAIN(tests)
