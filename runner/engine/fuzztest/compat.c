/* SPDX-License-Identifier: Apache-2.0 */
/* FuzzTest's compatibility mode: libFuzzer's arguments stand behind the name of the test. */
#include "runner/engine/fuzztest/fuzztest.h"
#include "runner/engine/libfuzzer/libfuzzer.h"

#include <signal.h>

/* io: a command of libFuzzer, if r is 0. */
static int compat_choose(const char *test, int r, struct engine_cmd *io)
{
	struct strv all = {0};

	if (r < 0)
		return r;
	strv_push(&all, io->argv.v[0]);
	strv_pushf(&all, "--fuzz=%s", test);
	strv_push(&all, "--");
	for (size_t i = 1; i < io->argv.n; i++)
		strv_push(&all, io->argv.v[i]);
	strv_done(&io->argv);
	io->argv = all;
	return 0;
}

/* A property that does not hold ends in abort(), and FuzzTest takes the signal from libFuzzer,
 * which does not save the input then.  FuzzTest does, if it knows where. */
static int compat_fuzz(const struct engine_fuzz *job, struct engine_cmd *ret, struct err *e)
{
	int r = compat_choose(job->test, engine_libfuzzer.fuzz(job, ret, e), ret);

	if (r == 0)
		strv_pushf(&ret->env, "FUZZTEST_REPRODUCERS_OUT_DIR=%s", job->artifact_dir);
	return r;
}

static int compat_replay(const struct engine_replay *job, struct engine_cmd *ret, struct err *e)
{
	return compat_choose(job->test, engine_libfuzzer.replay(job, ret, e), ret);
}

static int compat_measure(const struct engine_measure *job, struct engine_cmd *ret, struct err *e)
{
	return compat_choose(job->test, engine_libfuzzer.measure(job, ret, e), ret);
}

static int compat_shorten(const struct engine_shorten *job, struct engine_cmd *ret, struct err *e)
{
	return compat_choose(job->test, engine_libfuzzer.shorten(job, ret, e), ret);
}

static void compat_line(struct slice line, struct engine_state *io)
{
	libfuzzer_line(line, io);
	fuzztest_failure(line, io);
}

static enum engine_end compat_classify(const struct engine_state *s, int code, int signo)
{
	if (signo == SIGABRT && s->fault == ENGINE_FAULT_CRASH)
		return ENGINE_FAULTED;
	return engine_libfuzzer.classify(s, code, signo);
}

static enum engine_artifact compat_artifact(struct slice name)
{
	enum engine_artifact a = engine_fuzztest.artifact(name);

	return a == ENGINE_ARTIFACT_NONE ? libfuzzer_artifact(name) : a;
}

static const char *const marks[] = {"list_fuzz_tests", NULL};

const struct engine_ops engine_fuzztest_libfuzzer = {
    .name = "fuzztest-libfuzzer",
    .marks = marks,
    .also = "libFuzzer: deadly signal",
    .tests = "",
    .fuzz = compat_fuzz,
    .replay = compat_replay,
    .measure = compat_measure,
    .shorten = compat_shorten,
    .flags = libfuzzer_flags,
    .flag_ok = libfuzzer_flag_ok,
    .line = compat_line,
    .words = libfuzzer_words,
    .classify = compat_classify,
    .artifact = compat_artifact,
    .strategies = true,
    .stop_signal = SIGUSR1, /* libFuzzer's; the others are FuzzTest's */
    .dump_signal = SIGABRT,
};
