/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/engine/fuzztest/fuzztest.h"

#include "base/memory.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* --- flags ---------------------------------------------------------------- */

/* It ignores a flag that it does not know. */
static const char *const flags[] = {"stack_limit_kb", NULL};

static bool fuzztest_flag_ok(struct slice flag, char why[160])
{
	uint64_t value;

	if (scan_lit(&flag, SLICE("-stack_limit_kb=")) && scan_u64(&flag, 10, UINT32_MAX, &value) &&
	    flag.n == 0)
		return true;
	(void)snprintf(why, 160, "of FuzzTest's flags, only -stack_limit_kb=NUMBER may be set");
	return false;
}

static void fuzztest_add_flags(const char *const *given, struct strv *v)
{
	char why[160];

	for (size_t i = 0; given && given[i]; i++)
		if (fuzztest_flag_ok(slice_of(given[i]), why))
			strv_pushf(v, "-%s", given[i]);
}

/* --- commands ------------------------------------------------------------- */

/* It reads one directory, and its inputs are in several. */
#define SEEDS "/tmp/fuzztest/seeds"
#define INPUT "/tmp/fuzztest/input"
/* Where it leaves a smaller input. */
#define SMALLER "/tmp/fuzztest/smaller"

/* What all of its commands have.  timeout_s, limit_mib: 0: none. */
static void fuzztest_begin(struct engine_cmd *c, const char *binary, const char *test,
			   uint64_t timeout_s, uint64_t limit_mib)
{
	struct strv *v = &c->argv;

	strv_push(v, binary);
	strv_pushf(v, "--fuzz=%s", test);
	if (timeout_s)
		strv_pushf(v, "--time_limit_per_input=%llus", (unsigned long long)timeout_s);
	if (limit_mib)
		strv_pushf(v, "--rss_limit_mb=%llu", (unsigned long long)limit_mib);
}

static int fuzztest_fuzz(const struct engine_fuzz *job, struct engine_cmd *ret, struct err *e)
{
	struct sanitizer_env env = {.env = job->env,
				    .rss_limit_mib = job->rss_limit_mib,
				    .known_leaks = job->known_leaks,
				    .known_undefined = job->known_undefined,
				    .symbolizer = job->symbolizer};
	struct engine_cmd c = {0};

	fuzztest_begin(&c, job->binary, job->test, job->input_timeout_s, job->rss_limit_mib);
	strv_pushf(&c.argv, "--fuzz_for=%llus", (unsigned long long)job->max_time_s);
	fuzztest_add_flags(job->flags, &c.argv);
	for (size_t i = 0; job->seed_dirs[i]; i++)
		engine_add_step(&c, "links", job->seed_dirs[i], SEEDS);
	strv_push(&c.env, "FUZZTEST_TESTSUITE_IN_DIR=" SEEDS);
	strv_pushf(&c.env, "FUZZTEST_TESTSUITE_OUT_DIR=%s", job->corpus_dir);
	strv_pushf(&c.env, "FUZZTEST_REPRODUCERS_OUT_DIR=%s", job->artifact_dir);
	if (job->runs)
		strv_pushf(&c.env, "FUZZTEST_MAX_FUZZING_RUNS=%llu", (unsigned long long)job->runs);
	return separate_command(job->binary, &env, &c, ret, e);
}

static int fuzztest_replay(const struct engine_replay *job, struct engine_cmd *ret, struct err *e)
{
	struct sanitizer_env env = {.env = job->env,
				    .rss_limit_mib = job->rss_limit_mib,
				    .symbolizer = job->symbolizer,
				    .ub_goes_on = job->ub_goes_on};
	struct engine_cmd c = {0};

	c.input_at = job->scratch ? xasprintf("%s/input", job->scratch) : xstrdup(INPUT);
	engine_add_step(&c, "links", "-", job->scratch ? job->scratch : "/tmp/fuzztest");
	fuzztest_begin(&c, job->binary, job->test, job->input_timeout_s, job->rss_limit_mib);
	fuzztest_add_flags(job->flags, &c.argv);
	strv_pushf(&c.env, "FUZZTEST_REPLAY=%s", c.input_at);
	engine_add_inputs(job, &c);
	return separate_command(job->binary, &env, &c, ret, e);
}

/* It ends when it has found one smaller input; on the smallest, it never ends by itself. */
static int fuzztest_shorten(const struct engine_shorten *job, struct engine_cmd *ret, struct err *e)
{
	struct sanitizer_env env = {
	    .env = job->env, .rss_limit_mib = job->rss_limit_mib, .ub_goes_on = job->ub_goes_on};
	struct engine_cmd c = {0};

	fuzztest_begin(&c, job->binary, job->test, job->input_timeout_s, job->rss_limit_mib);
	fuzztest_add_flags(job->flags, &c.argv);
	engine_add_step(&c, "links", "-", SMALLER);
	engine_add_step(&c, "save", SMALLER, job->output);
	strv_pushf(&c.env, "FUZZTEST_MINIMIZE_REPRODUCER=%s", job->input);
	strv_push(&c.env, "FUZZTEST_REPRODUCERS_OUT_DIR=" SMALLER);
	return separate_command(job->binary, &env, &c, ret, e);
}

/* --- names and ends -------------------------------------------------------- */

/* 16 digits: a hash of the input. */
static enum engine_artifact fuzztest_artifact(struct slice name)
{
	return name.n == 16 && slice_is_hex(name) ? ENGINE_ARTIFACT_CRASH : ENGINE_ARTIFACT_NONE;
}

/* It exits with 1 for nearly every reason. */
static enum engine_end fuzztest_classify(const struct engine_state *s, int code, int signo)
{
	bool failed = s->fault != ENGINE_FAULT_NONE && s->fault != ENGINE_FAULT_ENGINE;

	if (signo == SIGABRT && failed)
		return ENGINE_FAULTED; /* a property that does not hold, or its own limits */
	if (s->replaying)
		return separate_classify(s, code, signo);
	if (signo)
		return ENGINE_KILLED;
	if (s->not_instrumented)
		return ENGINE_NOT_INSTRUMENTED;
	if (code != 0 && failed)
		return ENGINE_FAULTED;
	if (code == 0 && s->done)
		return ENGINE_FINISHED;
	return s->running ? ENGINE_UNKNOWN : ENGINE_STARTUP_FAILED;
}

/* The flag of init_fuzztest.cc. */
static const char *const marks[] = {"list_fuzz_tests", NULL};

const struct engine_ops engine_fuzztest = {
    .name = "fuzztest",
    .marks = marks,
    .tests = "",
    .fuzz = fuzztest_fuzz,
    .replay = fuzztest_replay,
    .shorten = fuzztest_shorten,
    .flags = flags,
    .flag_ok = fuzztest_flag_ok,
    .line = fuzztest_line,
    .classify = fuzztest_classify,
    .artifact = fuzztest_artifact,
    .one_input = true,
    .stop_signal = SIGTERM,
    .dump_signal = SIGABRT,
};
