/* SPDX-License-Identifier: Apache-2.0 */
/* Checks single flags and variables, and converts flags that set a job's limits. */
#include "base/memory.h"
#include "runner/targets/optfile.h"

#include "base/cleanup.h"
#include "runner/targets/names.h"

#include <stdio.h>
#include <string.h>

/* All flags in FuzzerFlags.def of LLVM 14 to 19 ("-help=1").  The list includes flags that
 * engine_ops.flag_ok refuses, to distinguish a typo from a refusal. */
/* clang-format off */
static const char *const libfuzzer_keys[] = {
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
    "minimize_crash_internal_step",
};
/* clang-format on */
enum { LIBFUZZER_KEYS = sizeof(libfuzzer_keys) / sizeof(libfuzzer_keys[0]) };

static bool is_key_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

bool optfile_key_ok(struct slice key)
{
	if (key.n == 0 || key.n > OPTFILE_KEY_MAX)
		return false;
	for (size_t i = 0; i < key.n; i++)
		if (!is_key_char(key.p[i]))
			return false;
	return true;
}

bool optfile_env_name_ok(struct slice name)
{
	return optfile_key_ok(name) && !(name.p[0] >= '0' && name.p[0] <= '9');
}

bool optfile_value_ok(struct slice value)
{
	if (value.n > OPTFILE_VALUE_MAX)
		return false;
	for (size_t i = 0; i < value.n; i++)
		if ((unsigned char)value.p[i] < ' ' || value.p[i] == 0x7f)
			return false;
	return true;
}

void optfile_lower(struct slice key, char out[OPTFILE_KEY_MAX + 1])
{
	for (size_t i = 0; i < key.n; i++)
		out[i] = (char)(key.p[i] >= 'A' && key.p[i] <= 'Z' ? key.p[i] + 32 : key.p[i]);
	out[key.n] = '\0';
}

/* Adds a flag.  It replaces a flag of the same name, because the engine uses the last one. */
static void put_flag(struct strv *flags, const char *key, const char *flag)
{
	size_t n = strlen(key);

	strv_push(flags, flag);
	for (size_t i = 0; i + 1 < flags->n; i++) {
		if (strncmp(flags->v[i] + 1, key, n) != 0 || flags->v[i][n + 1] != '=')
			continue;
		free(flags->v[i]);
		flags->v[i] = flags->v[--flags->n];
		flags->v[flags->n] = NULL;
		break;
	}
}

static bool optfile_flag_number(struct slice value, uint64_t max, uint64_t *ret)
{
	uint64_t v;

	if (!scan_u64(&value, 10, max, &v) || value.n > 0 || v == 0)
		return false;
	*ret = v;
	return true;
}

/* Takes the flags that the engine must not get.  1: taken, 0: another flag, -1: a bad value. */
static int special(struct optfile *io, const char *key, struct slice value,
		   char why[OPTFILE_WHY_MAX])
{
	enum { DAY_S = 86400, TIB_IN_MIB = 1024 * 1024 };
	bool timeout = strcmp(key, "timeout") == 0;
	uint64_t max = timeout ? DAY_S : TIB_IN_MIB;

	if (!timeout && strcmp(key, "rss_limit_mb") != 0)
		return 0;
	if (optfile_flag_number(value, max, timeout ? &io->input_timeout_s : &io->rss_limit_mib))
		return 1;
	snprintf(why, OPTFILE_WHY_MAX, "'%s' must be a number in [1, %llu]", key,
		 (unsigned long long)max);
	return -1;
}

static bool key_known(const struct engine_ops *engine, const char *key, char why[OPTFILE_WHY_MAX])
{
	const char *near;

	if (engine != &engine_libfuzzer)
		return true;
	for (size_t i = 0; i < LIBFUZZER_KEYS; i++)
		if (strcmp(libfuzzer_keys[i], key) == 0)
			return true;
	near = names_near(slice_of(key), libfuzzer_keys, LIBFUZZER_KEYS);
	snprintf(why, OPTFILE_WHY_MAX, "unknown flag '%s'%s%s%s", key,
		 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
	return false;
}

bool optfile_flag(struct optfile *io, const struct engine_ops *engine, struct slice key,
		  struct slice value, char why[OPTFILE_WHY_MAX])
{
	_autofree_ char *flag = NULL;
	char name[OPTFILE_KEY_MAX + 1], reason[160] = "";
	int r;

	if (!optfile_key_ok(key) || !optfile_value_ok(value)) {
		snprintf(why, OPTFILE_WHY_MAX, "not a name and a value");
		return false;
	}
	optfile_lower(key, name);
	r = special(io, name, value, why);
	if (r != 0)
		return r > 0;
	if (!key_known(engine, name, why))
		return false;
	if (strcmp(name, "dict") == 0 && value.n > 0) {
		free(io->dict);
		io->dict = xstrndup(value.p, value.n);
		return true;
	}
	flag = xasprintf("-%s=%.*s", name, (int)value.n, value.p);
	/* Only the configuration may set -runs: with "runs = 1", a pushed file could make any
	 * target pass. */
	if (strcmp(name, "runs") == 0) {
		snprintf(reason, sizeof(reason), "set the key \"runs\" instead");
	} else if (engine->flag_ok(slice_of(flag), reason)) {
		put_flag(&io->flags, name, flag);
		return true;
	}
	snprintf(why, OPTFILE_WHY_MAX, "flag '%s' is refused: %s", name, reason);
	return false;
}
