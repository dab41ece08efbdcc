/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/engine/afl/afl.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>

/* --- flags ---------------------------------------------------------------- */

/* The flags that a user may set, "-p=rare" for afl-fuzz's "-p rare".  The others belong to us, or
 * leave the cell (-M, -S, -F: other instances; -C, -n, -Q, -U: other ways to run a target). */
static const char *const flags[] = {"p", "L", "l", "a", NULL};

static bool afl_is_own(struct slice name)
{
	for (size_t i = 0; flags[i]; i++)
		if (slice_eq(name, slice_of(flags[i])))
			return true;
	return false;
}

/* "-name=value" */
static bool afl_split(struct slice flag, struct slice *ret_name, struct slice *ret_value)
{
	if (!scan_lit(&flag, SLICE("-")) || !scan_until(&flag, '=', flag.n, ret_name))
		return false;
	slice_skip(&flag, 1);
	*ret_value = flag;
	return true;
}

static bool afl_flag_ok(struct slice flag, char why[160])
{
	struct slice name, value;

	if (!afl_split(flag, &name, &value) || value.n == 0 || value.p[0] == '-') {
		(void)snprintf(why, 160, "write -name=value");
		return false;
	}
	if (afl_is_own(name))
		return true;
	(void)snprintf(why, 160, "the flags of afl-fuzz that may be set are -p, -L, -l and -a");
	return false;
}

static void afl_add_flags(const char *const *given, struct strv *v)
{
	for (size_t i = 0; given && given[i]; i++) {
		struct slice name, value;

		if (!afl_split(slice_of(given[i]), &name, &value) || !afl_is_own(name))
			continue;
		strv_pushf(v, "-%.*s", (int)name.n, name.p);
		strv_pushf(v, "%.*s", (int)value.n, value.p);
	}
}

/* --- environment ---------------------------------------------------------- */

static const char *const fuzz_env[] = {
    "AFL_NO_UI=1",
    /* The host's cpufreq governor and core_pattern are not ours to change.  With a core_pattern
     * that is a program, the kernel is a little slower to report a crash. */
    "AFL_SKIP_CPUFREQ=1",
    "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1",
    "AFL_NO_AFFINITY=1",
    "AFL_TMPDIR=/tmp", /* the current input, for programs that read standard input */
    /* No variable that is newer than 4.04: afl-fuzz warns of unknown variables, and waits 2 s.  So
     * it writes fuzzer_stats once a minute. */
    "AFL_IGNORE_UNKNOWN_ENVS=1",
};

/* --- commands ------------------------------------------------------------- */

/* An execution that takes longer is tried again with the time that an input may take. */
enum { EXEC_MS = 1000 };

static void afl_add_limits(const struct engine_fuzz *job, struct strv *v)
{
	strv_push(v, "-m"); /* the cell limits the memory */
	strv_push(v, "none");
	strv_push(v, "-t"); /* "+": slow seeds are skipped */
	strv_pushf(v, "%d+", EXEC_MS);
	strv_push(v, "-V");
	strv_pushf(v, "%llu", (unsigned long long)job->max_time_s);
	if (job->runs) {
		strv_push(v, "-E");
		strv_pushf(v, "%llu", (unsigned long long)job->runs);
	}
	if (job->seed) {
		strv_push(v, "-s");
		strv_pushf(v, "%llu", (unsigned long long)(job->seed % INT_MAX));
	}
	if (job->max_len) {
		strv_push(v, "-G");
		strv_pushf(v, "%llu", (unsigned long long)job->max_len);
	}
}

static int afl_fuzz(const struct engine_fuzz *job, struct engine_cmd *ret, struct err *e)
{
	struct sanitizer_env env = {.env = job->env,
				    .rss_limit_mib = job->rss_limit_mib,
				    .reports_abort = true,
				    .ends_by_signal = true,
				    .no_leaks = true};
	struct engine_cmd c = {0}; /* its inputs may have any length from the beginning */
	struct strv *v = &c.argv;

	strv_push(v, "afl-fuzz");
	strv_push(v, "-i");
	strv_push(v, job->seed_dirs[0]);
	strv_push(v, "-o");
	strv_push(v, job->artifact_dir);
	afl_add_limits(job, v);
	if (job->dict && job->dict[0]) {
		strv_push(v, "-x");
		strv_push(v, job->dict);
	}
	if (job->companion) {
		strv_push(v, "-c");
		strv_push(v, job->companion);
	}
	afl_add_flags(job->flags, v);
	strv_push(v, "--");
	strv_push(v, job->binary);
	for (size_t i = 0; i < sizeof(fuzz_env) / sizeof(fuzz_env[0]); i++)
		strv_push(&c.env, fuzz_env[i]);
	strv_pushf(&c.env, "AFL_HANG_TMOUT=%llu", (unsigned long long)job->input_timeout_s * 1000);
	return separate_command(job->binary, &env, &c, ret, e);
}

/* --- files ---------------------------------------------------------------- */

static bool afl_has(struct slice name, struct slice part)
{
	return name.n > 0 && memmem(name.p, name.n, part.p, part.n) != NULL;
}

/* "id:000000,sig:06,src:000002,time:5735,execs:25195,op:havoc,rep:4" in crashes/; the names in
 * hangs/ have no signal. */
static enum engine_artifact afl_artifact(struct slice name)
{
	if (!scan_lit(&name, SLICE("id:")))
		return ENGINE_ARTIFACT_NONE;
	if (!afl_has(name, SLICE(",sig:")))
		return ENGINE_ARTIFACT_TIMEOUT;
	/* The kernel kills the target at the cell's limit with this signal. */
	return afl_has(name, SLICE(",sig:09")) ? ENGINE_ARTIFACT_OOM : ENGINE_ARTIFACT_CRASH;
}

/* The names of inputs that were given have "orig:". */
static bool afl_input(struct slice name)
{
	return scan_lit(&name, SLICE("id:")) && !afl_has(name, SLICE(",orig:"));
}

static const struct engine_dir dirs[] = {
    {"default/crashes", true}, {"default/hangs", true}, {"default/queue", false}, {NULL, false}};

/* Strings of afl-compiler-rt.o.c in every instrumented program. */
static const char *const marks[] = {"##SIG_AFL_PERSISTENT##", "##SIG_AFL_DEFER_FORKSRV##",
				    "__AFL_SHM_ID", NULL};

const struct engine_ops engine_afl = {
    .name = "afl",
    .marks = marks,
    .fuzz = afl_fuzz,
    .replay = separate_replay,
    .flags = flags,
    .flag_ok = afl_flag_ok,
    .line = afl_line,
    .classify = separate_classify,
    .artifact = afl_artifact,
    .dirs = dirs,
    .input = afl_input,
    .stats_file = "default/fuzzer_stats",
    .goes_on = true,
    .one_input = true,
    .needs_seed = true,
    .separate = true,
    .takes_turns = true,
    .companion = ".cmplog",
    .stop_signal = SIGTERM,
    .dump_signal = SIGTERM,
};
