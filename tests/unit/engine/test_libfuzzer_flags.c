/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/engine/libfuzzer/libfuzzer.h"

#include <errno.h>
#include <stdio.h>

static void takes_flags(void **state)
{
	static const char *const t[] = {
	    "-max_len=64", "-only_ascii=1",    "-use_value_profile=1", "-detect_leaks=0",
	    "-seed=3",	   "-runs=10",	       "-len_control=0",       "-malloc_limit_mb=100",
	    "-entropic=0", "-close_fd_mask=3", "-some_future_flag=x",  "-x=",
	    "-a=b c=d",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char why[160] = "";

		if (!engine_libfuzzer.flag_ok(slice_of(t[i]), why))
			fail_msg("%s: %s", t[i], why);
	}
}

static void refuses_with_a_reason(void **state)
{
	static const struct {
		const char *flag, *why;
	} t[] = {
	    {"-artifact_prefix=/x/", "the job sets it"},
	    {"-exact_artifact_path=/x", "overwrites"},
	    {"-stop_file=/x", "signal"},
	    {"-max_total_time=1", "\"max_time\""},
	    {"-timeout=1", "\"timeout\""},
	    {"-rss_limit_mb=0", "\"rss_limit\""},
	    {"-dict=x", "\"dictionary\""},
	    {"-print_final_stats=0", "statistics"},
	    {"-verbosity=0", "statistics"},
	    {"-error_exitcode=0", "exit code"},
	    {"-timeout_exitcode=0", "exit code"},
	    {"-handle_abrt=0", "signals"},
	    {"-handle_usr1=0", "signals"},
	    {"-fork=1", "one fuzzing process"},
	    {"-fork_corpus_groups=1", "one fuzzing process"},
	    {"-jobs=4", "one fuzzing process"},
	    {"-workers=4", "one fuzzing process"},
	    {"-ignore_crashes=1", "one fuzzing process"},
	    {"-merge=1", "another kind of job"},
	    {"-merge_control_file=x", "another kind of job"},
	    {"-minimize_crash=1", "another kind of job"},
	    {"-cleanse_crash=1", "another kind of job"},
	    {"-help=1", "another kind of job"},
	    {"-ignore_remaining_args=1", "directories"},
	    {"-print_funcs=2", "symbolizer"},
	    {"-focus_function=f", "symbolizer"},
	    {"max_len=3", "-name=value"},
	    {"--max_len=3", "-name=value"},
	    {"-max_len", "-name=value"},
	    {"-=3", "-name=value"},
	    {"-max len=3", "-name=value"},
	    {"-x=a\nb", "-name=value"},
	    {"/corpus", "-name=value"},
	    {"-", "-name=value"},
	    {"", "-name=value"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char why[160] = "";

		if (engine_libfuzzer.flag_ok(slice_of(t[i].flag), why) || !strstr(why, t[i].why))
			fail_msg("%s: '%s', not '%s'", t[i].flag, why, t[i].why);
	}
	assert_false(engine_libfuzzer.flag_ok((struct slice){"-x=\0y", 5}, (char[160]){0}));
}

static const char *value(const struct strv *env, const char *name)
{
	const char *found = NULL;
	size_t n = strlen(name);

	for (size_t i = 0; i < env->n; i++) {
		if (strncmp(env->v[i], name, n) != 0 || env->v[i][n] != '=')
			continue;
		assert_null(found); /* once */
		found = env->v[i] + n + 1;
	}
	return found;
}

/* The effective value of an option: the last one counts. */
static void assert_option(const char *options, const char *name, const char *want)
{
	const char *p = options, *found = NULL;
	size_t n = strlen(name);

	while (p) {
		if (strncmp(p, name, n) == 0 && p[n] == '=')
			found = p + n + 1;
		p = strchr(p, ':');
		p = p ? p + 1 : NULL;
	}
	assert_non_null(found);
	n = strcspn(found, ":");
	assert_int_equal(n, strlen(want));
	assert_memory_equal(found, want, n);
}

static struct strv env_of(const char *const *env, uint64_t rss)
{
	struct sanitizer_env job = {.rss_limit_mib = rss, .env = env};
	struct strv v = {0};
	struct err e;

	assert_int_equal(sanitizer_env(&job, &v, &e), 0);
	return v;
}

static void what_the_cell_depends_on(void **state)
{
	static const char *const names[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "MSAN_OPTIONS",
					    "TSAN_OPTIONS", "LSAN_OPTIONS"};
	static const char *const person[] = {
	    "ASAN_OPTIONS=exitcode=0:symbolize=1:handle_abort=2:log_path=/x:halt_on_error=0",
	    "UBSAN_OPTIONS=exitcode=0:symbolize=1:handle_abort=2:log_path=/x:halt_on_error=0",
	    "MSAN_OPTIONS=exitcode=0:symbolize=1:handle_abort=2:log_path=/x:halt_on_error=0",
	    "TSAN_OPTIONS=exitcode=0:symbolize=1:handle_abort=2:log_path=/x:halt_on_error=0",
	    "LSAN_OPTIONS=exitcode=0:symbolize=1:handle_abort=2:log_path=/x",
	    NULL};
	struct strv v = env_of(person, 400);

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		const char *o = value(&v, names[i]);

		assert_non_null(o);
		assert_option(o, "exitcode", "76");
		assert_option(o, "symbolize", "0");
		assert_option(o, "handle_abort", "0");
		assert_option(o, "abort_on_error", "0");
		assert_option(o, "log_path", "stderr");
		if (i < 4)
			assert_option(o, "halt_on_error", "1");
	}
	strv_done(&v);
}

/* Known crashes are suppressed, unless the user sets a suppression file: a sanitizer reads only
 * one file. */
static void known_crashes_are_suppressed(void **state)
{
	static const char *const theirs[] = {"UBSAN_OPTIONS=x=1:suppressions=/mine", NULL};
	static const char *const others[] = {"LSAN_OPTIONS=print_suppressions=1", NULL};
	struct sanitizer_env job = {.known_leaks = "/leaks", .known_undefined = "/ub"};
	struct strv v = {0};
	struct err e;

	(void)state;
	assert_int_equal(sanitizer_env(&job, &v, &e), 0);
	assert_option(value(&v, "LSAN_OPTIONS"), "suppressions", "/leaks");
	assert_option(value(&v, "UBSAN_OPTIONS"), "suppressions", "/ub");
	assert_null(strstr(value(&v, "ASAN_OPTIONS"), "suppressions="));
	strv_done(&v);

	job.env = theirs;
	assert_int_equal(sanitizer_env(&job, &v, &e), 0);
	assert_option(value(&v, "LSAN_OPTIONS"), "suppressions", "/leaks");
	assert_option(value(&v, "UBSAN_OPTIONS"), "suppressions", "/mine");
	strv_done(&v);

	job.env = others;
	assert_int_equal(sanitizer_env(&job, &v, &e), 0);
	assert_option(value(&v, "LSAN_OPTIONS"), "suppressions", "/leaks");
	strv_done(&v);
}

static void a_person_adds_and_changes(void **state)
{
	static const char *const person[] = {"ASAN_OPTIONS=detect_leaks=0:x=1",
					     "HOME=/elsewhere",
					     "ASAN_OPTIONS=x=2",
					     "MINE2=d",
					     "MINE=a=b",
					     "MINE=c",
					     "ASAN_OPTIONS_X=1",
					     NULL};
	struct strv v = env_of(person, 400);

	(void)state;
	assert_option(value(&v, "ASAN_OPTIONS"), "detect_leaks", "0");
	assert_option(value(&v, "ASAN_OPTIONS"), "x", "2");
	assert_string_equal(value(&v, "HOME"), "/elsewhere");
	assert_string_equal(value(&v, "MINE"), "c");
	assert_string_equal(value(&v, "MINE2"), "d");
	assert_string_equal(value(&v, "ASAN_OPTIONS_X"), "1");
	assert_string_equal(value(&v, "TMPDIR"), "/tmp");
	assert_string_equal(value(&v, "LANG"), "C");
	assert_non_null(value(&v, "PATH"));
	strv_done(&v);
}

static void quarantine_fits_the_limit(void **state)
{
	static const struct {
		uint64_t rss;
		const char *want;
	} t[] = {{180, "23"}, {512, "64"}, {4096, "64"}, {4, "1"}};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct strv v = env_of(NULL, t[i].rss);

		assert_option(value(&v, "ASAN_OPTIONS"), "quarantine_size_mb", t[i].want);
		strv_done(&v);
	}
}

static void refuses_what_is_no_variable(void **state)
{
	static const char *const bad[] = {"NOTHING", "=x", ""};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *env[] = {bad[i], NULL};
		struct sanitizer_env job = {.env = env};
		struct strv v = {0};
		struct err e;

		assert_int_equal(sanitizer_env(&job, &v, &e), -EINVAL);
		assert_non_null(strstr(e.msg, "NAME=value"));
		strv_done(&v);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(takes_flags),
    cmocka_unit_test(refuses_with_a_reason),
    cmocka_unit_test(what_the_cell_depends_on),
    cmocka_unit_test(known_crashes_are_suppressed),
    cmocka_unit_test(a_person_adds_and_changes),
    cmocka_unit_test(quarantine_fits_the_limit),
    cmocka_unit_test(refuses_what_is_no_variable),
};

UNIT_MAIN(tests)
