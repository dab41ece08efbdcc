/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/engine/centipede/centipede.h"

#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* --- flags ---------------------------------------------------------------- */

/* "-batch_size=100" for --batch_size=100.  Others belong to us, or leave the cell. */
static const char *const flags[] = {"batch_size", "crossover_level", "max_corpus_size",
				    "use_cmp_features", NULL};

static bool centipede_flag_ok(struct slice flag, char why[160])
{
	struct slice name;

	if (scan_lit(&flag, SLICE("-")) && scan_until(&flag, '=', flag.n, &name) && flag.n > 1)
		for (size_t i = 0; flags[i]; i++)
			if (slice_eq(name, slice_of(flags[i])))
				return true;
	(void)snprintf(why, 160,
		       "the flags of centipede that may be set are -batch_size, -crossover_level, "
		       "-max_corpus_size and -use_cmp_features");
	return false;
}

/* --- commands ------------------------------------------------------------- */

static void centipede_add(struct strv *v, const char *flag, uint64_t n)
{
	if (n > 0)
		strv_pushf(v, "--%s=%llu", flag, (unsigned long long)n);
}

/* The first directory gets new inputs, the others are read. */
static void centipede_add_corpus(const struct engine_fuzz *job, struct strv *v)
{
	char *list = xasprintf("--corpus_dir=%s", job->corpus_dir);

	for (size_t i = 0; job->seed_dirs[i]; i++) {
		char *longer = xasprintf("%s,%s", list, job->seed_dirs[i]);

		free(list);
		list = longer;
	}
	strv_push(v, list);
	free(list);
}

static void centipede_add_flags(const char *const *given, struct strv *v)
{
	char why[160];

	for (size_t i = 0; given && given[i]; i++)
		if (centipede_flag_ok(slice_of(given[i]), why))
			strv_pushf(v, "-%s", given[i]);
}

/* What the engine itself takes of the cell, beside the target.  With less the kernel kills healthy
 * targets. */
enum { OWN_MIB = 384 };

static int centipede_fuzz(const struct engine_fuzz *job, struct engine_cmd *ret, struct err *e)
{
	struct sanitizer_env env = {.env = job->env,
				    .rss_limit_mib = job->rss_limit_mib,
				    .reports_abort = true,
				    .no_leaks = true};
	struct engine_cmd c = {.max_len = job->max_len};
	struct strv *v = &c.argv;

	if (job->rss_limit_mib > 0 && job->rss_limit_mib < OWN_MIB)
		return err_set(
		    e, ERANGE,
		    "centipede itself takes about 300 MiB, and all may take %llu MiB: give "
		    "the target \"memory\": \"512MiB\" or more",
		    (unsigned long long)job->rss_limit_mib);
	strv_push(v, "centipede");
	strv_pushf(v, "--workdir=%s/wd", job->artifact_dir);
	strv_pushf(v, "--binary=%s", job->binary);
	centipede_add_corpus(job, v);
	/* It would look for these programs; it needs neither. */
	strv_push(v, "--symbolizer_path=/dev/null");
	strv_push(v, "--objdump_path=/dev/null");
	strv_pushf(v, "--stop_after=%llus", (unsigned long long)job->max_time_s);
	centipede_add(v, "timeout_per_input", job->input_timeout_s);
	centipede_add(v, "rss_limit_mb", job->rss_limit_mib);
	centipede_add(v, "num_runs", job->runs);
	centipede_add(v, "seed", job->seed);
	centipede_add(v, "max_len", job->max_len);
	if (job->dict && job->dict[0])
		strv_pushf(v, "--dictionary=%s", job->dict);
	strv_push(v, "--exit_on_crash=0");
	/* The target waits for batches on a socket, for which it would need calls that a cell
	 * refuses; else it forks for each batch. */
	strv_push(v, "--persistent_mode=0");
	centipede_add_flags(job->flags, v);
	return separate_command(job->binary, &env, &c, ret, e);
}

/* The program writes a file beside its input, and a cell's inputs are read-only. */
#define REPLAY "/tmp/centipede"

static int centipede_replay(const struct engine_replay *job, struct engine_cmd *ret, struct err *e)
{
	struct sanitizer_env env = {.env = job->env,
				    .rss_limit_mib = job->rss_limit_mib,
				    .symbolizer = job->symbolizer,
				    .ub_goes_on = job->ub_goes_on,
				    .reports_abort = true,
				    .no_leaks = true};
	const char *at = job->scratch ? job->scratch : REPLAY;
	struct engine_cmd c = {.input_at = xstrdup("input")};

	engine_add_step(&c, "in", at, "-");
	strv_push(&c.argv, job->binary);
	strv_push(&c.argv, "input");
	engine_add_inputs(job, &c);
	return separate_command(job->binary, &env, &c, ret, e);
}

/* --- names and ends -------------------------------------------------------- */

/* The SHA-1 of the input, in crashes.000000/. */
static enum engine_artifact centipede_artifact(struct slice name)
{
	return name.n == 40 && slice_is_hex(name) ? ENGINE_ARTIFACT_CRASH : ENGINE_ARTIFACT_NONE;
}

/* It exits with 1 after SIGINT, and by a signal after a check of its own that failed. */
static enum engine_end centipede_classify(const struct engine_state *s, int code, int signo)
{
	if (s->replaying)
		return separate_classify(s, code, signo);
	if (s->not_instrumented)
		return ENGINE_NOT_INSTRUMENTED;
	if (!signo && (code == 0 || code == 1) && s->done)
		return ENGINE_FINISHED;
	if (!s->running && (!signo || s->fault == ENGINE_FAULT_ENGINE))
		return ENGINE_STARTUP_FAILED;
	return signo ? ENGINE_KILLED : ENGINE_UNKNOWN;
}

static const struct engine_dir dirs[] = {{"wd/crashes.000000", true}, {NULL, false}};

/* The variable that passes flags to the runner in the program. */
static const char *const marks[] = {"CENTIPEDE_RUNNER_FLAGS", NULL};
/* The engine's own program, which sets it, is no target. */
#define SETS_FLAGS "CENTIPEDE_RUNNER_FLAGS=:dump_binary_info"

const struct engine_ops engine_centipede = {
    .name = "centipede",
    .marks = marks,
    .unless = SETS_FLAGS,
    .fuzz = centipede_fuzz,
    .replay = centipede_replay,
    .flags = flags,
    .flag_ok = centipede_flag_ok,
    .line = centipede_line,
    .classify = centipede_classify,
    .artifact = centipede_artifact,
    .dirs = dirs,
    .goes_on = true,
    .one_input = true,
    .separate = true,
    .takes_turns = true,
    .file_bytes = UINT64_C(1) << 30, /* what it shares with the program: mostly not used */
    .stop_signal = SIGINT,
    .dump_signal = SIGTERM,
};
