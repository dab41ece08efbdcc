/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/engine/go/go.h"

#include "base/memory.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* --- places ------------------------------------------------------------------------------ */

/* A test program reads files of its package, testdata/..., by its working directory.  Below it is
 * also the directory from which it reads an input to run, and to which it writes a failing one.  So
 * it gets a working directory of its own, with links to the package's files. */
#define NEST	  "/tmp/go"
#define PACKAGE	  NEST "/package"
#define CACHE	  NEST "/cache"
#define INPUT	  "fuzzcell"
#define CACHE_DIR "go/cache"
#define FAIL_DIR  "go/failing"

static char *go_path(const char *dir, const char *test)
{
	return xasprintf("%s/%s", dir, test);
}

/* The files of the package are in a directory beside the program, with the program's name without
 * ".test".  at: the working directory. */
static void go_add_package(struct engine_cmd *c, const char *binary, const char *at)
{
	struct slice stem = slice_of(binary);
	char *from, *to = go_path(at, "testdata");

	(void)slice_cut_end(&stem, SLICE(".test"));
	from = xasprintf("%.*s/testdata", (int)stem.n, stem.p);
	engine_add_step(c, "links", from, to);
	from[strlen(from) - strlen("/testdata")] = '\0';
	engine_add_step(c, "links", from, at);
	free(from);
	free(to);
	engine_add_step(c, "in", at, "-");
}

/* Go maps its heap in pieces of 64 MiB, and tables for it, before it uses them. */
enum { UNUSED_MIB = 128 };

/* The kernel's limit of a cell ends the process without a word.  At this limit Go reports that it
 * is out of memory, and saves the input; before, it collects its garbage more often.  Sanitizers
 * reserve more than any limit. */
static void go_add_limit(struct engine_cmd *c, uint64_t mib, bool sanitized)
{
	char bytes[32];

	if (mib == 0)
		return;
	strv_pushf(&c->env, "GOMEMLIMIT=%lluMiB", (unsigned long long)mib);
	(void)snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)(mib + UNUSED_MIB) << 20);
	if (!sanitized)
		engine_add_step(c, "data", bytes, "-");
}

static void go_add_link(struct engine_cmd *c, const char *to, const char *dir, const char *test)
{
	char *at = go_path(dir, test);

	engine_add_step(c, "link", to, at);
	free(at);
}

/* --- commands ------------------------------------------------------------------------------ */

static const char *const flags[] = {"test.fuzzminimizetime", NULL};

static bool go_flag_ok(struct slice flag, char why[160])
{
	if (scan_lit(&flag, SLICE("-test.fuzzminimizetime=")) && flag.n > 0)
		return true;
	(void)snprintf(why, 160, "the flag of a Go test that may be set is -test.fuzzminimizetime");
	return false;
}

/* By default an input is not made smaller while fuzzing: fuzzcell does that with failing inputs
 * afterwards, in cells of their own. */
static const char *go_minimize_time(const char *const *given)
{
	const char *last = "-test.fuzzminimizetime=0s";
	char why[160];

	for (size_t i = 0; given && given[i]; i++)
		if (go_flag_ok(slice_of(given[i]), why))
			last = given[i];
	return last;
}

static void go_add_fuzz(struct engine_cmd *c, const char *binary, const char *test)
{
	struct strv *v = &c->argv;

	strv_push(v, binary);
	strv_push(v, "-test.run=^$");
	strv_pushf(v, "-test.fuzz=^%s$", test);
	strv_push(v, "-test.parallel=1");
	strv_push(v, "-test.fuzzcachedir=" CACHE);
	strv_push(&c->env, "GODEBUG=fuzzdebug=1"); /* it prints the coverage */
}

static int go_fuzz(const struct engine_fuzz *job, struct engine_cmd *ret, struct err *e)
{
	struct sanitizer_env env = {.env = job->env, .rss_limit_mib = job->rss_limit_mib};
	struct engine_cmd c = {0};
	char *cache = go_path(job->artifact_dir, CACHE_DIR);
	char *failing = go_path(job->artifact_dir, FAIL_DIR);

	for (size_t i = 0; job->seed_dirs[i]; i++)
		engine_add_step(&c, "links", job->seed_dirs[i], cache);
	engine_add_step(&c, "links", "-", failing);
	go_add_link(&c, cache, CACHE, job->test);
	go_add_link(&c, failing, PACKAGE "/" GO_INPUTS, job->test);
	free(cache);
	free(failing);
	go_add_package(&c, job->binary, PACKAGE);
	go_add_limit(&c, job->rss_limit_mib, job->sanitized);
	go_add_fuzz(&c, job->binary, job->test);
	if (job->runs)
		strv_pushf(&c.argv, "-test.fuzztime=%llux", (unsigned long long)job->runs);
	else
		strv_pushf(&c.argv, "-test.fuzztime=%llus", (unsigned long long)job->max_time_s);
	strv_push(&c.argv, go_minimize_time(job->flags));
	return separate_command(job->binary, &env, &c, ret, e);
}

static int go_replay(const struct engine_replay *job, struct engine_cmd *ret, struct err *e)
{
	struct sanitizer_env env = {
	    .env = job->env, .rss_limit_mib = job->rss_limit_mib, .symbolizer = job->symbolizer};
	struct engine_cmd c = {0};
	const char *at = job->scratch ? job->scratch : PACKAGE;
	char *inputs = go_path(at, GO_INPUTS), *dir = go_path(inputs, job->test);

	engine_add_step(&c, "links", "-", dir);
	free(inputs);
	free(dir);
	c.input_at = xasprintf(GO_INPUTS "/%s/" INPUT, job->test);
	go_add_package(&c, job->binary, at);
	go_add_limit(&c, job->rss_limit_mib, job->sanitized);
	strv_push(&c.argv, job->binary);
	strv_pushf(&c.argv, "-test.run=^%s$/^" INPUT "$", job->test);
	strv_pushf(&c.argv, "-test.timeout=%llus", (unsigned long long)job->input_timeout_s);
	engine_add_inputs(job, &c);
	return separate_command(job->binary, &env, &c, ret, e);
}

/* Go makes a failing input smaller when it fuzzes: here that input is the whole corpus. */
static int go_shorten(const struct engine_shorten *job, struct engine_cmd *ret, struct err *e)
{
	struct sanitizer_env env = {.env = job->env, .rss_limit_mib = job->rss_limit_mib};
	struct engine_cmd c = {0};
	char *corpus = go_path(CACHE, job->test),
	     *failing = go_path(PACKAGE "/" GO_INPUTS, job->test);

	go_add_link(&c, job->input, corpus, INPUT);
	engine_add_step(&c, "links", "-", failing);
	go_add_package(&c, job->binary, PACKAGE);
	go_add_limit(&c, job->rss_limit_mib, job->sanitized);
	engine_add_step(&c, "save", failing, job->output);
	free(corpus);
	free(failing);
	go_add_fuzz(&c, job->binary, job->test);
	strv_pushf(&c.argv, "-test.fuzztime=%llus", (unsigned long long)job->max_time_s);
	strv_pushf(&c.argv, "-test.fuzzminimizetime=%llus", (unsigned long long)job->max_time_s);
	return separate_command(job->binary, &env, &c, ret, e);
}

/* --- names and ends ------------------------------------------------------------------------ */

/* The SHA-256 of its content, or (newer versions) its first 16 digits. */
static bool go_is_name(struct slice name)
{
	return (name.n == 64 || name.n == 16) && slice_is_hex(name);
}

static enum engine_artifact go_artifact(struct slice name)
{
	return go_is_name(name) ? ENGINE_ARTIFACT_CRASH : ENGINE_ARTIFACT_NONE;
}

static enum engine_end go_classify(const struct engine_state *s, int code, int signo)
{
	if (s->replaying)
		return separate_classify(s, code, signo);
	if (signo)
		return ENGINE_KILLED;
	if (s->not_instrumented)
		return ENGINE_NOT_INSTRUMENTED;
	if (code == 0 && s->done)
		return ENGINE_FINISHED;
	if (code != 0 && s->fault != ENGINE_FAULT_NONE && s->fault != ENGINE_FAULT_ENGINE)
		return ENGINE_FAULTED;
	return s->running ? ENGINE_UNKNOWN : ENGINE_STARTUP_FAILED;
}

static const struct engine_dir dirs[] = {{FAIL_DIR, true}, {CACHE_DIR, false}, {NULL, false}};

/* Of testing's flags; and a section of every instrumented program has the second name, but in its
 * own program only. */
static const char *const marks[] = {"test.fuzzcachedir", NULL};

const struct engine_ops engine_go = {
    .name = "go",
    .marks = marks,
    .tests = "main.fuzzTargets",
    .fuzz = go_fuzz,
    .replay = go_replay,
    .shorten = go_shorten,
    .flags = flags,
    .flag_ok = go_flag_ok,
    .line = go_line,
    .classify = go_classify,
    .artifact = go_artifact,
    .dirs = dirs,
    .input = go_is_name,
    .one_input = true,
    .takes_turns = true,
    .input_timeout_s = 10,
    .file_bytes = UINT64_C(128) << 20, /* 100 MiB that a worker shares with its parent */
    .stop_signal = SIGINT,
    .dump_signal = SIGQUIT,
};
