/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: which flags a user may set, and the environment of each kind of cell. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "runner/engine/libfuzzer/libfuzzer.h"

#include <errno.h>
#include <stdio.h>

/* --- flags ---------------------------------------------------------------- */

/* All flags in FuzzerFlags.def of LLVM 14 to 19 ("-help=1"). */
/* clang-format off */
const char *const libfuzzer_flags[] = {
    "verbosity", "seed", "runs", "max_len", "len_control", "seed_inputs", "keep_seed",
    "cross_over", "cross_over_uniform_dist", "mutate_depth", "reduce_depth", "shuffle",
    "prefer_small", "timeout", "error_exitcode", "timeout_exitcode", "max_total_time", "help",
    "fork", "fork_corpus_groups", "ignore_timeouts", "ignore_ooms", "ignore_crashes", "merge",
    "set_cover_merge", "stop_file", "merge_control_file", "minimize_crash", "cleanse_crash",
    "mutation_graph_file", "use_counters", "use_memmem", "use_value_profile", "use_cmp",
    "shrink", "reduce_inputs", "jobs", "workers", "reload", "report_slow_units", "only_ascii",
    "dict", "artifact_prefix", "exact_artifact_path", "print_pcs", "print_funcs",
    "print_final_stats", "print_corpus_stats", "print_coverage", "print_full_coverage",
    "dump_coverage", "handle_segv", "handle_bus", "handle_abrt", "handle_ill", "handle_fpe",
    "handle_int", "handle_term", "handle_xfsz", "handle_usr1", "handle_usr2",
    "handle_winexcept", "close_fd_mask", "detect_leaks", "purge_allocator_interval",
    "trace_malloc", "rss_limit_mb", "malloc_limit_mb", "exit_on_src_pos", "exit_on_item",
    "ignore_remaining_args", "focus_function", "entropic",
    "entropic_feature_frequency_threshold", "entropic_number_of_rarest_features",
    "entropic_scale_per_exec_time", "analyze_dict", "use_clang_coverage", "data_flow_trace",
    "collect_data_flow", "create_missing_dirs", "features_dir", "experimental_len_control",
    "minimize_crash_internal_step", NULL,
};
/* clang-format on */

static const char by_job[] = "the job sets it";
static const char other_job[] = "it starts another kind of job than fuzzing";
static const char one_process[] = "a cell holds one fuzzing process; fuzzcell restarts it itself";
static const char by_signal[] = "stopping and dumping the current input go through its signals";
static const char by_code[] = "how the job ended is read from this exit code";
static const char no_symbols[] = "it needs a symbolizer, which does not run in fuzz cells";
static const char no_statistics[] = "the statistics are read from this output";

/* Names from FuzzerFlags.def of LLVM 14 to 19 (the lists are equal) and trunk.  A '*' at the end is
 * a wildcard. */
static const struct {
	const char *name;
	const char *why;
} refused[] = {
    {"artifact_prefix", by_job},
    {"exact_artifact_path", "it overwrites one artifact with the next"},
    {"stop_file", "fuzzcell stops a job by a signal; a file costs a system call per input"},
    {"max_total_time", "set the key \"max_time\" instead"},
    {"timeout", "set the key \"timeout\" instead"},
    {"rss_limit_mb", "set the key \"rss_limit\" (or \"memory\") instead"},
    {"dict", "set the key \"dictionary\" instead"},
    {"reload", "the corpus directory has one writer, the job itself"},
    {"create_missing_dirs", "the job makes its directories"},
    {"seed_inputs", "set the key \"seeds\" instead"},
    {"ignore_remaining_args", "the directories come after the flags"},
    {"print_final_stats", no_statistics},
    {"verbosity", no_statistics},
    {"error_exitcode", by_code},
    {"timeout_exitcode", by_code},
    {"handle_*", by_signal},
    {"fork*", one_process},
    {"jobs", one_process},
    {"workers", one_process},
    {"ignore_timeouts", one_process},
    {"ignore_ooms", one_process},
    {"ignore_crashes", one_process},
    {"merge*", other_job},
    {"set_cover_merge*", other_job},
    {"minimize_crash*", other_job},
    {"cleanse_crash*", other_job},
    {"analyze_dict", other_job},
    {"data_flow_trace", other_job},
    {"collect_data_flow", other_job},
    {"features_dir", "it writes files without a size limit"},
    {"mutation_graph_file", "it writes files without a size limit"},
    {"help", other_job},
    {"exit_on_*", "the job would end in a way that looks like an exit of the target"},
    {"print_pcs", no_symbols},
    {"print_funcs", no_symbols},
    {"print_coverage", no_symbols},
    {"print_full_coverage", no_symbols},
    {"focus_function", no_symbols},
};

static bool libfuzzer_flags_match(struct slice name, const char *pattern)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return name.n >= n - 1 && memcmp(name.p, pattern, n - 1) == 0;
	return slice_eq(name, slice_of(pattern));
}

static bool libfuzzer_flags_is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* "-name=value" with a value that is printable in a log line. */
static bool split_flag(struct slice flag, struct slice *ret_name)
{
	size_t n = 1;

	if (flag.n < 3 || flag.p[0] != '-')
		return false;
	while (n < flag.n && libfuzzer_flags_is_name_char(flag.p[n]))
		n++;
	if (n == 1 || n == flag.n || flag.p[n] != '=')
		return false;
	for (size_t i = n; i < flag.n; i++)
		if ((unsigned char)flag.p[i] < ' ' || flag.p[i] == 0x7f)
			return false;
	*ret_name = (struct slice){flag.p + 1, n - 1};
	return true;
}

bool libfuzzer_flag_ok(struct slice flag, char why[160])
{
	struct slice name;

	if (!split_flag(flag, &name)) {
		snprintf(why, 160, "not a libFuzzer flag: write -name=value");
		return false;
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (libfuzzer_flags_match(name, refused[i].name)) {
			snprintf(why, 160, "%s", refused[i].why);
			return false;
		}
	}
	return true;
}

bool libfuzzer_flag_replays(const char *flag)
{
	/* Flags that limit or report the execution of one input.  All other flags steer the
	 * mutations. */
	static const char *const ours[] = {
	    "malloc_limit_mb",		"detect_leaks", "close_fd_mask", "report_slow_units",
	    "purge_allocator_interval", "trace_malloc", "only_ascii"};
	size_t n = strcspn(flag, "=");

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (n > 1 && strlen(ours[i]) == n - 1 && strncmp(flag + 1, ours[i], n - 1) == 0)
			return true;
	return false;
}

/* --- environment ---------------------------------------------------------- */

#define TEXT_(n) #n
#define TEXT(n)	 TEXT_(n)
#define EXITCODE TEXT(SANITIZER_EXIT)
/* LIBFUZZER_EXIT_SANITIZER as a macro, for the preprocessor. */
#define SANITIZER_EXIT 76
_Static_assert(SANITIZER_EXIT == LIBFUZZER_EXIT_SANITIZER, "one exit code in two places");

/* Options that classification and isolation depend on.  They follow the user's options, because
 * the last value of an option counts.  Reports go to stderr, without colours. */
#define FORCED                                                                          \
	"exitcode=" EXITCODE                                                            \
	":abort_on_error=0:handle_abort=0:log_path=stderr:log_to_syslog=0:color=never:" \
	"print_summary=1:help=0"

/* A sanitizer's options, in this order: own, the user's, forced. */
struct san {
	const char *name;
	const char *own;
	const char *forced;
};

static const struct san sans[] = {
    /* The stack-use-after-return, release_to_os and odr options are those of ClusterFuzz.
     * may_return_null: the program must handle a failed huge malloc.  add_options() adds
     * quarantine_size_mb, which depends on the memory limit. */
    {"ASAN_OPTIONS",
     "detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1:"
     "max_uar_stack_size_log=16:allocator_release_to_os_interval_ms=500:detect_odr_violation=0",
     FORCED ":halt_on_error=1"},
    /* In an ASan program, UBSan's values of the common options override ASan's. */
    {"UBSAN_OPTIONS", "print_stacktrace=1:silence_unsigned_overflow=1", FORCED ":halt_on_error=1"},
    {"MSAN_OPTIONS", "allocator_may_return_null=1:allocator_release_to_os_interval_ms=500",
     FORCED ":halt_on_error=1"},
    /* halt_on_error: TSan's default continues after a race and loses the failing input. */
    {"TSAN_OPTIONS", "allocator_may_return_null=1:report_signal_unsafe=0:report_thread_leaks=0",
     FORCED ":halt_on_error=1"},
    {"LSAN_OPTIONS", "print_suppressions=0", FORCED},
};

enum { ASAN = 0, UBSAN = 1, LSAN = 4 }; /* in sans */
enum { ENV_MAX = 64 * 1024, QUARANTINE_MAX_MIB = 64 };

static bool is_var(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

/* The suppressions of known crashes; NULL if the user's options name a file.  There can be only one
 * file. */
static const char *suppressions_for(const struct libfuzzer_env *o, const struct san *s)
{
	static const char option[] = "suppressions=";

	for (size_t i = 0; o->env && o->env[i]; i++) {
		const char *at = is_var(o->env[i], s->name) ? strstr(o->env[i], option) : NULL;

		for (; at; at = strstr(at + 1, option))
			if (at[-1] != '_') /* "print_suppressions=" */
				return NULL;
	}
	if (s == &sans[LSAN])
		return o->known_leaks;
	return s == &sans[UBSAN] ? o->known_undefined : NULL;
}

/* Adds the forced options.  They follow all others, because the last value of an option counts. */
static void add_last(const struct libfuzzer_env *o, const struct san *s, struct buf *b)
{
	const char *suppressions = suppressions_for(o, s);

	buf_printf(b, ":%s", s->forced);
	if (o->ub_goes_on && s == &sans[UBSAN])
		buf_puts(b, ":halt_on_error=0");
	if (o->symbolizer)
		buf_printf(b, ":symbolize=1:external_symbolizer_path=%s", o->symbolizer);
	else
		buf_puts(b, ":symbolize=0");
	if (suppressions)
		buf_printf(b, ":suppressions=%s", suppressions);
}

static int add_options(const struct libfuzzer_env *o, const struct san *s, struct strv *io,
		       struct err *e)
{
	_autobuf_ struct buf b = BUF_INIT(ENV_MAX);

	buf_printf(&b, "%s=%s", s->name, s->own);
	/* Freed memory in the quarantine (256 MiB by default) counts as rss. */
	if (s == &sans[ASAN] && o->rss_limit_mib) {
		uint64_t q = o->rss_limit_mib / 8 + 1;

		buf_printf(&b, ":quarantine_size_mb=%u",
			   (unsigned)(q < QUARANTINE_MAX_MIB ? q : QUARANTINE_MAX_MIB));
	}
	for (size_t i = 0; o->env && o->env[i]; i++)
		if (is_var(o->env[i], s->name))
			buf_printf(&b, ":%s", o->env[i] + strlen(s->name) + 1);
	add_last(o, s, &b);
	if (buf_check(&b, e) < 0)
		return err_wrap(e, "%s", s->name);
	strv_push(io, buf_str(&b));
	return 0;
}

static bool is_sanitizer_var(const char *entry)
{
	for (size_t i = 0; i < sizeof(sans) / sizeof(sans[0]); i++)
		if (is_var(entry, sans[i].name))
			return true;
	return false;
}

/* Adds the variable, and replaces an earlier value. */
static int set_var(const char *entry, struct strv *io, struct err *e)
{
	size_t n = strcspn(entry, "=");

	if (n == 0 || entry[n] != '=')
		return err_set(e, EINVAL, "environment '%s': write NAME=value", entry);
	strv_push(io, entry);
	for (size_t i = 0; i + 1 < io->n; i++) {
		if (strncmp(io->v[i], entry, n + 1) != 0)
			continue;
		free(io->v[i]);
		io->v[i] = io->v[--io->n];
		io->v[io->n] = NULL;
		break;
	}
	return 0;
}

int libfuzzer_env(const struct libfuzzer_env *o, struct strv *io, struct err *e)
{
	static const char *const plain[] = {
	    "PATH=/usr/local/bin:/usr/bin:/bin",
	    "HOME=/tmp",
	    "TMPDIR=/tmp",
	    "LANG=C",
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		strv_push(io, plain[i]);
	for (size_t i = 0; r == 0 && i < sizeof(sans) / sizeof(sans[0]); i++)
		r = add_options(o, &sans[i], io, e);
	for (size_t i = 0; r == 0 && o->env && o->env[i]; i++)
		if (!is_sanitizer_var(o->env[i]))
			r = set_var(o->env[i], io, e);
	return r;
}
