/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/config/schema.h"

#include "base/clock.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define MIB (INT64_C(1) << 20)
#define TIB (INT64_C(1) << 40)
#define SEC ((int64_t)USEC_PER_SEC)
#define DAY (86400 * SEC)

/* The URL becomes a link in markdown. */
static const char *wrong_link(const char *s)
{
	for (const char *p = s; *p; p++)
		if (*p <= ' ' || *p > '~' || strchr("<>()[]\"'`\\", *p))
			return "is not a URL: it contains blanks, brackets, quotes or non-ASCII "
			       "characters";
	if (strncmp(s, "https://", 8) != 0 && strncmp(s, "http://", 7) != 0)
		return "is not a URL such as \"https://host/...\"";
	if (!strstr(s, "{commit}") || !strstr(s, "{path}"))
		return "does not contain \"{commit}\" and \"{path}\"";
	return NULL;
}

static const char *const enforcements[] = {"strict", "best-effort", NULL};
static const char *const plateau_rules[] = {
    [PLATEAU_PRICE] = "price", [PLATEAU_CPU_SILENCE] = "cpu-silence",
    [PLATEAU_WALL] = "wall",   [PLATEAU_NONE] = "none",
    [PLATEAU_COUNT] = NULL,
};
static const char *const auto_dictionaries[] = {
    [WORDS_OFF] = "off",
    [WORDS_ALONE] = "alone",
    [WORDS_JOINED] = "joined",
    [WORDS_COUNT] = NULL,
};
static const char *const allocations[] = {
    [ALLOCATION_INDEX] = "index",
    [ALLOCATION_EQUAL] = "equal",
    [ALLOCATION_QUEUE] = "queue",
    [ALLOCATION_COUNT] = NULL,
};

#define AT(member) .offset = offsetof(struct root_config, member)
static const struct key root_keys[] = {
    {"enforcement", VALUE_CHOICE, AT(enforcement), .preset = "strict", .choices = enforcements,
     .help = "if this machine cannot enforce a limit: refuse to run, or continue and report it"},
    {"cgroup", VALUE_PATH, KEY_ABSOLUTE, AT(cgroup),
     .help = "the cgroup that holds the cells, relative to the cgroup mount"},
    {"crun", VALUE_PATH, KEY_ABSOLUTE, AT(crun), .help = "the crun binary; unset: the one in PATH"},
    {"rootfs", VALUE_PATH, AT(rootfs),
     .help = "directory that is a cell's read-only root; unset: the host's libraries"},
    {"state_dir", VALUE_PATH, AT(state_dir), .help = "where corpora, crashes and logs are kept"},
    {"symbolizer", VALUE_PATH, KEY_ABSOLUTE, AT(symbolizer),
     .help = "llvm-symbolizer as seen in a cell; unset: the newest one of the host"},
    {"source_dir", VALUE_PATH, AT(source_dir),
     .help =
	 "the work tree in which the files of a stack are looked up; unset: trigger.repository"},
    {"source_link", VALUE_TEXT, AT(source_link), .wrong = wrong_link,
     .help = "page of a source line, with {commit}, {path} and {line}; unset: GitHub's of "
	     "github.repository"},
    {"run", VALUE_SECTION, .help = "the run as a whole"},
    {"discovery", VALUE_SECTION, .help = "list of the places where targets come from"},
    {"trigger", VALUE_SECTION, .help = "the repository: pushes to it start runs"},
    {"git", VALUE_SECTION, .help = "limits of the git processes that read fetched data"},
    {"github", VALUE_SECTION, .help = "where issues are filed"},
    {"webhooks", VALUE_SECTION, .help = "list of webhooks that get notifications"},
    {"outbox", VALUE_SECTION, .help = "delivery of notifications: alarm, retries, silent targets"},
    {"serve", VALUE_SECTION, .help = "the dashboard"},
    {"defaults", VALUE_SECTION, .help = "values for every target"},
    {"targets", VALUE_SECTION, .help = "glob over target names: values for those that match"},
};
#undef AT

#define AT(member) .offset = offsetof(struct run_config, member)
static const struct key run_keys[] = {
    {"workers", VALUE_COUNT, AT(workers), .preset = "auto", .word = "auto", .min = 1, .max = 1024,
     .help = "targets that are fuzzed at the same time; auto: as many as CPUs"},
    {"total_time", VALUE_TIME, AT(total_time_us), .preset = "4h", .word = "none", .min = SEC,
     .max = 365 * DAY,
     .help = "wall time of the run; its last tenth, 10m at most, is for triage and minimising"},
    {"log_limit", VALUE_SIZE, AT(log_limit), .preset = "8MiB", .min = MIB / 16, .max = TIB,
     .help = "bytes of a target's output that are kept"},
    {"disk_reserve", VALUE_SIZE, AT(disk_reserve), .preset = "1GiB", .word = "none", .min = MIB,
     .max = 16 * TIB,
     .help = "with less free disk space than this, no cell starts and running cells are paused"},
    {"generations", VALUE_COUNT, AT(generations), .preset = "3", .max = 1000,
     .help = "number of earlier corpora to keep for each target"},
    {"allocation", VALUE_CHOICE, AT(allocation), .preset = "index", .choices = allocations,
     .help = "how CPU time is shared: by expected gain, equally, or one target at a time"},
    {"quantum", VALUE_TIME, AT(quantum_us), .preset = "5m", .min = SEC, .max = 30 * DAY,
     .help = "CPU time of a turn; shorter when the run is too short for turns of all targets"},
    {"floor", VALUE_DECIMAL, AT(floor_milli), .preset = "0.05", .max = 1000,
     .help = "share of the turns that goes to the longest waiting target"},
    {"hold", VALUE_TIME, AT(hold_us), .preset = "10m", .min = SEC, .max = 30 * DAY,
     .help = "how long a target that was starved at its plateau waits for CPU pressure to fall"},
    {"adapt", VALUE_BOOL, AT(adapt), .preset = "true",
     .help = "use fewer workers while other work waits for CPUs or memory"},
    {"overcommit", VALUE_DECIMAL, AT(overcommit_milli), .preset = "1", .min = 100, .max = 10000,
     .help =
	 "limit for the sum of the cells' memory limits, as a fraction of the machine's memory"},
};
#undef AT

/* Sources of the ranges:
 * - memory, rss_limit: an ASan libFuzzer starts with about 30 MiB.
 * - pids: libFuzzer with ASan needs at least four, and more to merge.  The maximum is the
 *   kernel's PID_MAX_LIMIT.
 * - cpu_weight: cgroup v2.
 * - max_len, runs, seed: libFuzzer reads them as int or unsigned. */
#define AT(member) .offset = offsetof(struct target_config, member)
static const struct key target_keys[] = {
    {"memory", VALUE_SIZE, AT(memory), .preset = "2GiB", .min = 32 * MIB, .max = 16 * TIB,
     .help = "hard limit of the cell, children and /tmp included"},
    {"rss_limit", VALUE_SIZE, AT(rss_limit), .preset = "auto", .word = "auto", .min = 16 * MIB,
     .max = 16 * TIB, .step = MIB,
     .help = "the engine's own limit, at which it saves the input; auto: 3/4 of memory"},
    {"memory_high", VALUE_SIZE, KEY_DERIVED, AT(memory_high),
     .help = "memory use above which the kernel throttles the cell: 7/8 of memory"},
    {"cpus", VALUE_CPUS, AT(cpu_milli), .preset = "1", .min = 100, .max = 1024000,
     .help = "maximum number of CPUs of the cell"},
    {"cpu_weight", VALUE_COUNT, AT(cpu_weight), .preset = "100", .min = 1, .max = 10000,
     .help = "share of the CPU when cells compete"},
    {"pids", VALUE_COUNT, AT(pids), .preset = "64", .min = 8, .max = 4194304,
     .help = "maximum number of processes and threads"},
    {"disk", VALUE_SIZE, AT(disk), .preset = "2GiB", .min = MIB, .max = 16 * TIB,
     .help = "bytes that the target may write outside of /tmp in a run"},
    {"scratch", VALUE_SIZE, AT(scratch), .preset = "auto", .word = "auto", .min = MIB,
     .max = 16 * TIB,
     .help = "size of /tmp, counted in memory; auto: 256MiB, but at most 1/4 of memory"},
    {"timeout", VALUE_TIME, AT(input_timeout_us), .preset = "30s", .min = SEC, .max = DAY,
     .step = SEC, .help = "longest time for one input"},
    {"max_time", VALUE_TIME, AT(max_time_us), .preset = "1h", .min = SEC, .max = 365 * DAY,
     .help = "wall time of the target in a run"},
    {"grace", VALUE_TIME, AT(grace_us), .preset = "3s", .min = SEC / 10, .max = 600 * SEC,
     .help = "time between the steps of stopping"},
    {"plateau", VALUE_SECTION, .help = "when a target stops because more time is not worth it"},
    {"plateau.rule", VALUE_CHOICE, AT(plateau.rule), .preset = "price", .choices = plateau_rules,
     .help = "too few expected new edges, silence in CPU time or in wall time, or no rule"},
    {"plateau.price", VALUE_DECIMAL, AT(plateau.price_milli), .preset = "0.05", .min = 1,
     .max = 1000000, .help = "expected new edges per CPU-second below which the target ends"},
    {"plateau.window", VALUE_TIME, AT(plateau.window_us), .preset = "10m", .min = SEC,
     .max = 365 * DAY, .help = "time without new coverage after which the target ends"},
    {"plateau.cap", VALUE_TIME, AT(plateau.cap_us), .preset = "2h", .word = "none", .min = SEC,
     .max = 365 * DAY, .help = "CPU time after which the target ends in any case"},
    {"plateau.forget", VALUE_BOOL, AT(plateau.forget), .preset = "false",
     .help = "ignore earlier runs, even if the binary is the same"},
    {"max_crashes", VALUE_COUNT, AT(max_crashes), .preset = "none", .word = "none", .min = 1,
     .max = 1000000, .help = "failures in one run after which the target stops"},
    {"triage_time", VALUE_TIME, AT(triage_us), .preset = "10m", .word = "off", .min = SEC,
     .max = 30 * DAY,
     .help = "time to reproduce a target's failures in a run; the rest waits for the next run"},
    {"minimize_time", VALUE_TIME, AT(minimize_us), .preset = "1m", .word = "off", .min = SEC,
     .max = 30 * DAY, .help = "time to minimise the input of one crash"},
    {"merge_time", VALUE_TIME, AT(merge_us), .preset = "30m", .word = "off", .min = SEC,
     .max = 30 * DAY,
     .help = "time to merge the corpus after fuzzing; the merge resumes in the next run"},
    {"symbolizer_memory", VALUE_SIZE, AT(symbolizer_memory), .preset = "1GiB", .min = 64 * MIB,
     .max = 16 * TIB, .help = "added to memory when a failure is reproduced with function names"},
    {"priority", VALUE_SIGNED, AT(priority), .preset = "0", .min = -1000, .max = 1000,
     .help = "targets with a higher priority come first"},
    {"max_len", VALUE_SIZE, AT(max_len), .preset = "auto", .word = "auto", .min = 1,
     .max = 64 * MIB, .help = "longest input; auto: the engine's choice"},
    {"seed", VALUE_NUMBER, AT(seed), .preset = "auto", .word = "auto", .min = 1, .max = UINT32_MAX,
     .help = "seed of the random numbers; auto: the engine's choice"},
    {"runs", VALUE_NUMBER, AT(runs), .preset = "none", .word = "none", .min = 1, .max = INT32_MAX,
     .help = "inputs after which the target ends, counted for each build"},
    {"enabled", VALUE_BOOL, AT(enabled), .preset = "true", .help = "false: leave the target out"},
    {"auto_dictionary", VALUE_CHOICE, AT(auto_dictionary), .preset = "alone",
     .choices = auto_dictionaries,
     .help = "use words of the program as a dictionary: only without a given dictionary, or joined "
	     "with it"},
    {"dictionary", VALUE_PATH, KEY_EMPTY, AT(dictionary),
     .help = "replaces the discovered dictionary; \"\": none"},
    {"flags", VALUE_FLAGS, AT(flags), .help = "flags for the engine, each \"-name=value\""},
    {"env", VALUE_ENV, AT(env), .help = "environment of the target, name and value"},
    {"seeds", VALUE_DIRS, AT(seeds), .help = "more directories with inputs to start from"},
};
#undef AT

_Static_assert(COUNT(target_keys) <= SCHEMA_MAX_KEYS, "raise SCHEMA_MAX_KEYS");

const struct schema schema_root = {"at the top level", root_keys, COUNT(root_keys)};
const struct schema schema_run = {"in \"run\"", run_keys, COUNT(run_keys)};
const struct schema schema_target = {"in \"defaults\" or \"targets\"", target_keys,
				     COUNT(target_keys)};

const char *schema_type_name(enum value_type t)
{
	static const char *const names[VALUE_TYPE_COUNT] = {
	    [VALUE_SIZE] = "size",
	    [VALUE_TIME] = "time",
	    [VALUE_CPUS] = "CPUs",
	    [VALUE_DECIMAL] = "decimal",
	    [VALUE_COUNT] = "number",
	    [VALUE_NUMBER] = "number",
	    [VALUE_SIGNED] = "number",
	    [VALUE_BOOL] = "true or false",
	    [VALUE_CHOICE] = "word",
	    [VALUE_PATH] = "path",
	    [VALUE_TEXT] = "text",
	    [VALUE_FLAGS] = "list of flags",
	    [VALUE_ENV] = "object of strings",
	    [VALUE_DIRS] = "list of paths",
	    [VALUE_WORDS] = "list of words",
	    [VALUE_SECTION] = "section",
	};

	return (unsigned)t < VALUE_TYPE_COUNT ? names[t] : "?";
}
