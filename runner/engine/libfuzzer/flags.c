/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: which flags a user may set. */
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
