/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/engine/libfuzzer/libfuzzer.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>

/* --- the parts of every command ------------------------------------------------- */

/* libFuzzer keeps its integer flags in an int and lets them wrap silently. */
static unsigned libfuzzer_int(uint64_t v)
{
	return v < INT_MAX ? (unsigned)v : INT_MAX;
}

static size_t name_len(const char *flag)
{
	return strcspn(flag, "=");
}

static void drop_at(struct strv *v, size_t at)
{
	free(v->v[at]);
	memmove(v->v + at, v->v + at + 1, (v->n - at) * sizeof(*v->v));
	v->n--;
}

static void libfuzzer_add_limits(uint64_t timeout_s, uint64_t rss_mib, struct strv *v)
{
	strv_pushf(v, "-timeout=%u", libfuzzer_int(timeout_s));
	strv_pushf(v, "-rss_limit_mb=%u", libfuzzer_int(rss_mib));
}

/* Adds the user's flags (NULL: none).  Each flag replaces an earlier flag of the same name.
 * libFuzzer uses the last of a repeated flag, but one flag per name is easier to read in the log.
 */
static int libfuzzer_add_flags(const char *const *flags, bool replay, struct strv *v, struct err *e)
{
	for (size_t i = 0; flags && flags[i]; i++) {
		size_t n = name_len(flags[i]);
		char why[160];

		if (!libfuzzer_flag_ok(slice_of(flags[i]), why))
			return err_set(e, EINVAL, "flag '%s': %s", flags[i], why);
		if (replay && !libfuzzer_flag_replays(flags[i]))
			continue;
		for (size_t k = v->n; k-- > 1;)
			if (name_len(v->v[k]) == n && memcmp(v->v[k], flags[i], n) == 0)
				drop_at(v, k);
		strv_push(v, flags[i]);
	}
	return 0;
}

/* The last step of building a command: adds the environment to c and moves c to *ret.  On an error,
 * also that of libfuzzer_add_flags() (r < 0, with *e set), frees c and returns the error. */
static int libfuzzer_command(int r, const char *binary, const struct sanitizer_env *env,
			     struct engine_cmd *c, struct engine_cmd *ret, struct err *e)
{
	if (r == 0)
		r = sanitizer_env(env, &c->env, e);
	if (r < 0) {
		engine_cmd_done(c);
		return err_wrap(e, "libFuzzer command of '%s'", binary);
	}
	*ret = *c;
	return 0;
}

/* --- the command that fuzzes ---------------------------------------------------- */

static void add_own(const struct engine_fuzz *job, struct strv *v)
{
	strv_push(v, job->binary);
	strv_pushf(v, "-artifact_prefix=%s/", job->artifact_dir);
	strv_pushf(v, "-max_total_time=%u", libfuzzer_int(job->max_time_s));
	/* -malloc_limit_mb stays at its default, which is -rss_limit_mb.  A single malloc above the
	 * limit is reported before the kernel has to act. */
	libfuzzer_add_limits(job->input_timeout_s, job->rss_limit_mib, v);
	strv_push(v, "-print_final_stats=1");
	/* -print_funcs starts a symbolizer, which uses hundreds of MiB inside the limit. */
	strv_push(v, "-print_funcs=0");
	/* No other process writes to the corpus.  Reading a directory that the target deleted would
	 * end libFuzzer with a usage error. */
	strv_push(v, "-reload=0");
}

static void add_chosen(const struct engine_fuzz *job, struct strv *v)
{
	if (job->dict && job->dict[0])
		strv_pushf(v, "-dict=%s", job->dict);
	if (job->max_len)
		strv_pushf(v, "-max_len=%u", libfuzzer_int(job->max_len));
	/* -seed is an unsigned int; 0 means that libFuzzer chooses. */
	if (job->seed)
		strv_pushf(v, "-seed=%u", (unsigned)((job->seed - 1) % UINT_MAX + 1));
	if (job->runs)
		strv_pushf(v, "-runs=%u", libfuzzer_int(job->runs));
	if (job->few_mutations)
		strv_push(v, "-mutate_depth=1");
	if (job->even_choice)
		strv_push(v, "-entropic=0");
	if (job->any_length)
		strv_push(v, "-len_control=0");
	if (job->value_profile)
		strv_push(v, "-use_value_profile=1");
}

static void libfuzzer_add_dirs(const struct engine_fuzz *job, struct strv *v)
{
	strv_push(v, job->corpus_dir);
	for (size_t i = 0; job->seed_dirs && job->seed_dirs[i]; i++)
		strv_push(v, job->seed_dirs[i]);
}

/* libFuzzer prints its own choice of -max_len, but not a given value. */
static uint64_t max_len_of(const struct strv *argv)
{
	uint64_t len = 0;

	for (size_t i = 0; i < argv->n; i++) {
		struct slice flag = slice_of(argv->v[i]);

		if (!scan_lit(&flag, SLICE("-max_len=")))
			continue;
		if (!scan_u64(&flag, 10, INT_MAX, &len) || flag.n > 0)
			len = 0;
	}
	return len;
}

static int libfuzzer_fuzz(const struct engine_fuzz *job, struct engine_cmd *ret, struct err *e)
{
	struct sanitizer_env env = {.env = job->env,
				    .rss_limit_mib = job->rss_limit_mib,
				    .symbolizer = job->symbolizer,
				    .known_leaks = job->known_leaks,
				    .known_undefined = job->known_undefined};
	struct engine_cmd c = {0};
	int r;

	add_own(job, &c.argv);
	add_chosen(job, &c.argv);
	r = libfuzzer_add_flags(job->flags, false, &c.argv, e);
	libfuzzer_add_dirs(job, &c.argv);
	c.max_len = max_len_of(&c.argv);
	return libfuzzer_command(r, job->binary, &env, &c, ret, e);
}

/* --- without a corpus: a replay, a step of a merge, a step of -minimize_crash ---- */

static int libfuzzer_replay(const struct engine_replay *job, struct engine_cmd *ret, struct err *e)
{
	struct sanitizer_env env = {.env = job->env,
				    .rss_limit_mib = job->rss_limit_mib,
				    .symbolizer = job->symbolizer,
				    .ub_goes_on = job->ub_goes_on};
	struct engine_cmd c = {0};
	int r;

	strv_push(&c.argv, job->binary);
	libfuzzer_add_limits(job->input_timeout_s, job->rss_limit_mib, &c.argv);
	r = libfuzzer_add_flags(job->flags, true, &c.argv, e);
	for (size_t i = 0; job->inputs && job->inputs[i]; i++)
		strv_push(&c.argv, job->inputs[i]);
	return libfuzzer_command(r, job->binary, &env, &c, ret, e);
}

static int libfuzzer_measure(const struct engine_measure *job, struct engine_cmd *ret,
			     struct err *e)
{
	struct sanitizer_env env = {
	    .env = job->env, .rss_limit_mib = job->rss_limit_mib, .ub_goes_on = true};
	struct engine_cmd c = {0};
	int r;

	strv_push(&c.argv, job->binary);
	strv_pushf(&c.argv, "-artifact_prefix=%s/", job->artifact_dir);
	strv_pushf(&c.argv, "-merge_control_file=%s", job->control);
	strv_pushf(&c.argv, "-merge_inner=%d", job->only_new ? 1 : 2);
	strv_pushf(&c.argv, "-max_len=%u", libfuzzer_int(job->max_len));
	libfuzzer_add_limits(job->input_timeout_s, job->rss_limit_mib, &c.argv);
	r = libfuzzer_add_flags(job->flags, true, &c.argv, e);
	return libfuzzer_command(r, job->binary, &env, &c, ret, e);
}

/* libFuzzer's own outer loop accepts any crash.  Our outer loop compares the crashes. */
static int libfuzzer_shorten(const struct engine_shorten *job, struct engine_cmd *ret,
			     struct err *e)
{
	struct sanitizer_env env = {
	    .env = job->env, .rss_limit_mib = job->rss_limit_mib, .ub_goes_on = job->ub_goes_on};
	struct engine_cmd c = {0};
	int r;

	strv_push(&c.argv, job->binary);
	strv_push(&c.argv, "-minimize_crash_internal_step=1");
	strv_pushf(&c.argv, "-exact_artifact_path=%s", job->output);
	strv_pushf(&c.argv, "-runs=%u", libfuzzer_int(job->runs));
	strv_pushf(&c.argv, "-max_total_time=%u", libfuzzer_int(job->max_time_s));
	libfuzzer_add_limits(job->input_timeout_s, job->rss_limit_mib, &c.argv);
	r = libfuzzer_add_flags(job->flags, true, &c.argv, e);
	strv_push(&c.argv, job->input);
	return libfuzzer_command(r, job->binary, &env, &c, ret, e);
}

/* --- how it ended --------------------------------------------------------- */

/* Its names of artifacts are those of saved ones. */
enum engine_artifact libfuzzer_artifact(struct slice name)
{
	enum engine_artifact a = engine_saved(name);

	return a == ENGINE_ARTIFACT_PIDS || a == ENGINE_ARTIFACT_SYSCALL ? ENGINE_ARTIFACT_NONE : a;
}

/* Whether a report supports the exit status.  A target can fake an exit code alone with _exit(),
 * and a report alone with write(); only both together count. */
static bool has_evidence(const struct engine_state *s)
{
	enum engine_artifact a = libfuzzer_artifact(slice_of(s->artifact));

	return s->fault != ENGINE_FAULT_NONE ||
	       (a != ENGINE_ARTIFACT_NONE && a != ENGINE_ARTIFACT_SLOW);
}

static enum engine_end by_signal(const struct engine_state *s, int signo)
{
	if (!engine_is_deadly(signo))
		return ENGINE_KILLED;
	if (has_evidence(s) && s->fault != ENGINE_FAULT_ENGINE)
		return ENGINE_FAULTED;
	return s->running || s->replaying ? ENGINE_KILLED : ENGINE_STARTUP_FAILED;
}

/* If nothing is instrumented, LLVM 14 ends with a usage error; LLVM 16 and later warn and
 * continue. */
static bool libfuzzer_is_blind(const struct engine_state *s)
{
	return s->not_instrumented && s->cov == 0;
}

/* An exit status without the report that belongs to it. */
static enum engine_end libfuzzer_unexplained(const struct engine_state *s)
{
	return s->running || s->replaying ? ENGINE_UNKNOWN : ENGINE_STARTUP_FAILED;
}

static enum engine_end by_usage_code(const struct engine_state *s)
{
	if (libfuzzer_is_blind(s))
		return ENGINE_NOT_INSTRUMENTED;
	/* An error of the engine before fuzzing began is a failed start.  Later, it is a fault
	 * (file size exceeded). */
	if (s->fault == ENGINE_FAULT_ENGINE && !s->running)
		return ENGINE_STARTUP_FAILED;
	return has_evidence(s) ? ENGINE_FAULTED : libfuzzer_unexplained(s);
}

static enum engine_end libfuzzer_classify(const struct engine_state *s, int code, int signo)
{
	if (signo)
		return by_signal(s, signo);
	switch (code) {
	case 0:
		if (!s->done)
			return libfuzzer_unexplained(s);
		return libfuzzer_is_blind(s) ? ENGINE_NOT_INSTRUMENTED : ENGINE_FINISHED;
	case LIBFUZZER_EXIT_USAGE:
		return by_usage_code(s);
	case LIBFUZZER_EXIT_INTERRUPTED:
		return s->interrupted && (s->running || s->replaying) ? ENGINE_INTERRUPTED
								      : libfuzzer_unexplained(s);
	case LIBFUZZER_EXIT_TIMEOUT:
	case LIBFUZZER_EXIT_OOM:
	case SANITIZER_EXIT:
	case LIBFUZZER_EXIT_ERROR:
		if (s->fault == ENGINE_FAULT_ENGINE)
			return libfuzzer_unexplained(s);
		return has_evidence(s) ? ENGINE_FAULTED : libfuzzer_unexplained(s);
	default:
		return libfuzzer_unexplained(s);
	}
}

/* ClusterFuzz and OSS-Fuzz identify targets by the first mark.  The second mark is in every program
 * with libFuzzer, even if stripped. */
static const char *const marks[] = {"LLVMFuzzerTestOneInput", "ERROR: libFuzzer: ", NULL};

const struct engine_ops engine_libfuzzer = {
    .name = "libfuzzer",
    .marks = marks,
    .fuzz = libfuzzer_fuzz,
    .replay = libfuzzer_replay,
    .measure = libfuzzer_measure,
    .shorten = libfuzzer_shorten,
    .flags = libfuzzer_flags,
    .flag_ok = libfuzzer_flag_ok,
    .line = libfuzzer_line,
    .words = libfuzzer_words,
    .classify = libfuzzer_classify,
    .artifact = libfuzzer_artifact,
    .strategies = true,
    .stop_signal = SIGUSR1,
    /* ASan leaves SIGABRT to libFuzzer (handle_abort=0).  libFuzzer prints "deadly signal", writes
     * crash-..., and ends.  This works from any thread, even while the target hangs. */
    .dump_signal = SIGABRT,
};
