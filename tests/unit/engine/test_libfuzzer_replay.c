/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/engine/libfuzzer/libfuzzer.h"

static const char *const inputs[] = {"/seeds/inputs/a", "/seeds/inputs/b", NULL};
static const char *const flags[] = {"-max_len=64", "-malloc_limit_mb=100", "-use_value_profile=1",
				    "-detect_leaks=0", NULL};
static const char *const env[] = {"ASAN_OPTIONS=symbolize=0:detect_leaks=0", "X=1", NULL};

static bool has(const struct strv *v, const char *text)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->v[i], text) == 0)
			return true;
	return false;
}

static const char *var(const struct strv *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++)
		if (strncmp(v->v[i], name, strlen(name)) == 0)
			return v->v[i];
	fail_msg("no %s", name);
	return "";
}

static bool ends_with(const char *s, const char *end)
{
	return strlen(s) >= strlen(end) && strcmp(s + strlen(s) - strlen(end), end) == 0;
}

static struct engine_replay replay_job(void)
{
	return (struct engine_replay){
	    .binary = "/target/t",
	    .inputs = inputs,
	    .input_timeout_s = 25,
	    .rss_limit_mib = 400,
	    .flags = flags,
	    .env = env,
	};
}

static void replays_inputs_without_the_mutators_flags(void **state)
{
	struct engine_replay job = replay_job();
	struct engine_cmd c;
	struct err e;

	(void)state;
	assert_int_equal(engine_libfuzzer.replay(&job, &c, &e), 0);
	assert_string_equal(c.argv.v[0], "/target/t");
	assert_true(has(&c.argv, "-timeout=25"));
	assert_true(has(&c.argv, "-rss_limit_mb=400"));
	assert_true(has(&c.argv, "-malloc_limit_mb=100"));
	assert_true(has(&c.argv, "-detect_leaks=0"));
	assert_false(has(&c.argv, "-max_len=64")); /* it would cut the input */
	assert_false(has(&c.argv, "-use_value_profile=1"));
	assert_string_equal(c.argv.v[c.argv.n - 2], "/seeds/inputs/a");
	assert_string_equal(c.argv.v[c.argv.n - 1], "/seeds/inputs/b");
	engine_cmd_done(&c);
}

/* The last option of a name counts for a sanitizer. */
static void symbolizes_only_when_told(void **state)
{
	struct engine_replay job = replay_job();
	struct engine_cmd c;
	struct err e;

	(void)state;
	assert_int_equal(engine_libfuzzer.replay(&job, &c, &e), 0);
	assert_true(ends_with(var(&c.env, "ASAN_OPTIONS="), ":symbolize=0"));
	assert_true(has(&c.env, "X=1"));
	engine_cmd_done(&c);
	job.symbolizer = "/usr/bin/llvm-symbolizer";
	assert_int_equal(engine_libfuzzer.replay(&job, &c, &e), 0);
	assert_true(ends_with(var(&c.env, "ASAN_OPTIONS="),
			      ":symbolize=1:external_symbolizer_path=/usr/bin/llvm-symbolizer"));
	engine_cmd_done(&c);
}

static struct engine_measure measure_job(void)
{
	return (struct engine_measure){
	    .binary = "/target/t",
	    .control = "/work/control",
	    .artifact_dir = "/work/artifacts",
	    .input_timeout_s = 5,
	    .rss_limit_mib = 400,
	    .max_len = 1000,
	    .flags = flags,
	    .env = env,
	};
}

static void measures_by_a_control_file(void **state)
{
	struct engine_measure job = measure_job();
	static const char *const want[] = {"-artifact_prefix=/work/artifacts/",
					   "-merge_control_file=/work/control",
					   "-merge_inner=2",
					   "-max_len=1000",
					   "-timeout=5",
					   "-rss_limit_mb=400",
					   NULL};
	struct engine_cmd c;
	struct err e;

	(void)state;
	assert_int_equal(engine_libfuzzer.measure(&job, &c, &e), 0);
	for (size_t i = 0; want[i]; i++)
		assert_true(has(&c.argv, want[i]));
	assert_false(has(&c.argv, "-max_len=64"));
	/* Value profiles hash addresses: features of two processes would not compare. */
	assert_false(has(&c.argv, "-use_value_profile=1"));
	/* Fuzzing continued after undefined behaviour. */
	assert_non_null(strstr(var(&c.env, "UBSAN_OPTIONS="), ":halt_on_error=1:halt_on_error=0"));
	engine_cmd_done(&c);
	job.only_new = true;
	assert_int_equal(engine_libfuzzer.measure(&job, &c, &e), 0);
	assert_true(has(&c.argv, "-merge_inner=1"));
	engine_cmd_done(&c);
}

static struct engine_shorten shorten_job(void)
{
	return (struct engine_shorten){
	    .binary = "/target/t",
	    .input = "/seeds/input",
	    .output = "/work/shorter",
	    .runs = 1000,
	    .max_time_s = 7,
	    .input_timeout_s = 5,
	    .rss_limit_mib = 400,
	    .flags = flags,
	    .env = env,
	};
}

static void shortens_one_input(void **state)
{
	struct engine_shorten job = shorten_job();
	static const char *const want[] = {"-minimize_crash_internal_step=1",
					   "-exact_artifact_path=/work/shorter",
					   "-runs=1000",
					   "-max_total_time=7",
					   "-timeout=5",
					   "-rss_limit_mb=400",
					   NULL};
	struct engine_cmd c;
	struct err e;

	(void)state;
	assert_int_equal(engine_libfuzzer.shorten(&job, &c, &e), 0);
	for (size_t i = 0; want[i]; i++)
		assert_true(has(&c.argv, want[i]));
	assert_string_equal(c.argv.v[c.argv.n - 1], "/seeds/input");
	assert_false(has(&c.argv, "-use_value_profile=1"));
	engine_cmd_done(&c);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(replays_inputs_without_the_mutators_flags),
    cmocka_unit_test(symbolizes_only_when_told),
    cmocka_unit_test(measures_by_a_control_file),
    cmocka_unit_test(shortens_one_input),
};

UNIT_MAIN(tests)
