/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/config/schema.h"

#include "base/clock.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define KIB (INT64_C(1) << 10)
#define MIB (INT64_C(1) << 20)
#define TIB (INT64_C(1) << 40)
#define SEC ((int64_t)USEC_PER_SEC)
#define DAY (86400 * SEC)

/* --- texts ----------------------------------------------------------------- */

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

static bool has_only(const char *s, size_t n, const char *more)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr(more, s[i]))
			return false;
	return n > 0;
}

/* GitHub: owners are letters, digits and single hyphens, names also have "_" and ".". */
static const char *wrong_repository(const char *s)
{
	const char *slash = strchr(s, '/'), *name = slash ? slash + 1 : s;

	if (slash && has_only(s, (size_t)(slash - s), "-") && has_only(name, strlen(name), "-_.") &&
	    strlen(s) <= 140 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		return NULL;
	return "is not a repository such as \"owner/name\"";
}

/* Secrets are sent to this URL: TLS is required except on loopback. */
static const char *wrong_url(const char *s)
{
	static const char *const plain[] = {"http://127.0.0.1", "http://localhost", "http://[::1]"};
	const char *host = strstr(s, "://");

	for (const char *p = s; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
			return "is not a URL: it contains blanks or non-ASCII characters";
	if (host && strchr(host, '@') && strcspn(host + 3, "/") > strcspn(host + 3, "@"))
		return "contains a user name or password, which belongs in a file";
	if (strncmp(s, "https://", 8) == 0 && s[8] && s[8] != '/')
		return NULL;
	for (size_t i = 0; i < COUNT(plain); i++) {
		size_t n = strlen(plain[i]);

		if (strncmp(s, plain[i], n) == 0 && strchr(":/", s[n]))
			return NULL;
	}
	return "is not a URL such as \"https://host/path\"";
}

static const char *wrong_name(const char *s)
{
	return strlen(s) <= 64 && has_only(s, strlen(s), "-_.") && *s != '.' && *s != '-'
		   ? NULL
		   : "is not a name of at most 64 letters, digits, \"-\", \"_\" and \".\"";
}

static const char *wrong_variant(const char *s)
{
	return *s && strlen(s) <= 24 &&
		       s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-_")] == '\0'
		   ? NULL
		   : "is not a name of at most 24 small letters, digits, \"-\" and \"_\"";
}

static const char *wrong_variable(const char *s)
{
	return strlen(s) <= 128 && has_only(s, strlen(s), "_") && !isdigit((unsigned char)*s)
		   ? NULL
		   : "is not the name of an environment variable";
}

/* git-check-ref-format(1); also refuses names that look like an option. */
static const char *wrong_branch(const char *s)
{
	size_t n = strlen(s);

	if (n > 0 && n <= 200 && has_only(s, n, "-_./+@#") && *s != '-' && *s != '/' && *s != '.' &&
	    s[n - 1] != '/' && s[n - 1] != '.' && !strstr(s, "..") && !strstr(s, "//") &&
	    !strstr(s, "/.") && !strstr(s, "@{") && !strstr(s, ".lock"))
		return NULL;
	return "is not the name of a branch";
}

/* A directory in the repository that receives uploads. */
static const char *wrong_subdir(const char *s)
{
	return *s != '/' && strlen(s) <= 200 && has_only(s, strlen(s), "-_./") &&
		       !strstr(s, "..") && !strstr(s, "//")
		   ? NULL
		   : "is not a directory within a repository, such as \"crashes\"";
}

/* --- the top level, runs and targets ------------------------------------------ */

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
    {"bisect", VALUE_SECTION, .help = "which commit made a crash"},
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
    {"log_limit", VALUE_SIZE, AT(log_limit), .preset = "8MiB", .min = MIB / 4, .max = TIB,
     .help = "bytes of a target's output that are kept"},
    {"disk_reserve", VALUE_SIZE, AT(disk_reserve), .preset = "1GiB", .word = "none", .min = MIB,
     .max = 16 * TIB,
     .help = "with less free disk space than this, no cell starts and running cells are frozen"},
    {"generations", VALUE_COUNT, AT(generations), .preset = "3", .max = 1000,
     .help = "number of earlier corpora to keep for each target"},
    {"allocation", VALUE_CHOICE, AT(allocation), .preset = "index", .choices = allocations,
     .help = "how CPU time is shared: by expected gain, equally, or one target at a time"},
    {"turn", VALUE_TIME, AT(turn_us), .preset = "5m", .min = SEC, .max = 30 * DAY,
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
    {"check_share", VALUE_DECIMAL, AT(check_milli), .preset = "0.1", .word = "off", .min = 1,
     .max = 900, .help = "share of the CPU time that check variants get for new inputs of corpora"},
    {"coverage_age", VALUE_TIME, AT(coverage_us), .preset = "1d", .word = "off", .min = 60 * SEC,
     .max = 365 * DAY, .help = "in a continuous run, coverage reports are at most this old"},
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
    {"strategies", VALUE_BOOL, AT(strategies), .preset = "true",
     .help = "before the target ends for too few new edges, try other ways of its engine"},
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

/* --- where targets come from ------------------------------------------------ */

static const char *const isolations[] = {
    [ISOLATION_NONE] = "none", [ISOLATION_CELL] = "cell", [ISOLATION_COUNT] = NULL};
static const char *const roles[] = {[BUILD_ROLE_AUTO] = "auto",
				    [BUILD_ROLE_CHECK] = "check",
				    [BUILD_ROLE_FUZZ] = "fuzz",
				    [BUILD_ROLE_COVERAGE] = "coverage",
				    [BUILD_ROLE_COUNT] = NULL};
static const char *const source_types[] = {"directory", "manifest", "bazel",
					   "oss-fuzz",	"go",	    NULL};

#define AT(member) .offset = offsetof(struct source_config, member)
static const struct key source_keys[] = {
    {"type", VALUE_CHOICE, KEY_REQUIRED, AT(type), .choices = source_types,
     .help = "an output directory in the OSS-Fuzz layout, a JSON manifest, a Bazel workspace, a "
	     "project of OSS-Fuzz, or a module of Go"},
    {"path", VALUE_PATH, KEY_REQUIRED, AT(v.path),
     .help = "the directory, the manifest, or the directory of the workspace, project or module"},
    {"variant", VALUE_TEXT, AT(v.variant), .wrong = wrong_variant,
     .help = "name of other builds of targets, such as \"memory\"; unset: the main builds"},
    {"role", VALUE_CHOICE, AT(v.role), .preset = "auto", .choices = roles,
     .help = "what a variant is for: check the inputs, fuzz in turns with the main build, show "
	     "coverage; auto: coverage by its name, else check"},
    {"variants", VALUE_WORDS, AT(v.variants), .wrong = wrong_variant,
     .help = "names of several builds, such as \"address\" and \"memory\", each made by the "
	     "command; the first is fuzzed"},
    {"build", VALUE_WORDS, AT(v.build),
     .help = "command that fills the directory or builds the manifest's files, as a list of words; "
	     "no shell"},
    {"build_dir", VALUE_PATH, AT(v.build_dir),
     .help = "working directory of the build; unset: the directory of this file"},
    {"build_time", VALUE_TIME, AT(v.build_time_us), .preset = "1h", .min = SEC, .max = 30 * DAY,
     .help = "longest time of the build"},
    {"build_as_root", VALUE_BOOL, AT(v.build_as_root), .preset = "false",
     .help = "allow a build as root in a directory owned by root; false: refuse it"},
    {"build_memory", VALUE_SIZE, AT(v.build_memory), .preset = "auto", .word = "auto",
     .min = 16 * MIB, .max = 16 * TIB,
     .help = "hard limit of all build processes together; auto: 3/4 of the machine's memory"},
    {"build_pids", VALUE_COUNT, AT(v.build_pids), .preset = "4096", .min = 8, .max = 4194304,
     .help = "maximum number of processes and threads of the build"},
    {"build_cpu_weight", VALUE_COUNT, AT(v.build_cpu_weight), .preset = "50", .min = 1,
     .max = 10000,
     .help = "the build's share of the CPUs when it competes with a run, which has 100"},
    {"build_disk", VALUE_SIZE, AT(v.build_disk), .preset = "auto", .word = "auto", .min = MIB,
     .max = 16 * TIB,
     .help = "disk space that the build may use; auto: 3/4 of the free space above "
	     "run.disk_reserve"},
    {"build_isolation", VALUE_CHOICE, AT(v.build_isolation), .preset = "none",
     .choices = isolations,
     .help = "cell: build in a container with the work tree, and the host's /usr read-only"},
    {"build_network", VALUE_BOOL, AT(v.build_network), .preset = "false",
     .help = "with a cell: the build may use the machine's network"},
    {"build_writable", VALUE_DIRS, AT(v.build_writable),
     .help = "with a cell: more directories that the build may write to"},
    {"bazel", VALUE_TEXT, AT(v.bazel), .preset = "bazel", .help = "the bazel program"},
    {"query", VALUE_TEXT, AT(v.query),
     .help = "Bazel query for the targets; unset: every cc_binary with the tag fuzz_target"},
    {"startup_options", VALUE_WORDS, AT(v.bazel_startup),
     .help = "flags for bazel, before its command"},
    {"flags", VALUE_WORDS, AT(v.bazel_flags),
     .help = "flags for bazel build; unset: --config=asan-fuzzer"},
};
#undef AT

/* --- what starts a run ------------------------------------------------------ */

static const char *const quiet_modes[] = {
    [QUIET_OFF] = "off", [QUIET_FEWER] = "fewer", [QUIET_WAIT] = "wait", [QUIET_COUNT] = NULL};

#define AT(member) .offset = offsetof(struct trigger_config, member)
static const struct key trigger_keys[] = {
    {"repository", VALUE_PATH, AT(repository), .help = "the git work tree that is fuzzed"},
    {"remote", VALUE_TEXT, AT(remote), .preset = "origin", .wrong = wrong_name,
     .help = "the remote to check for pushes"},
    {"branch", VALUE_TEXT, AT(branch), .preset = "main", .wrong = wrong_branch,
     .help = "the branch of the remote"},
    {"interval", VALUE_TIME, AT(interval_us), .preset = "2h", .min = SEC, .max = 365 * DAY,
     .help = "minimum time between the starts of two runs"},
    {"fetch_time", VALUE_TIME, AT(fetch_us), .preset = "10m", .min = SEC, .max = DAY,
     .help = "longest time of a fetch"},
    {"quiet", VALUE_SECTION, .help = "what to do when other work oversubscribes the machine"},
    {"quiet.mode", VALUE_CHOICE, AT(quiet.mode), .preset = "off", .choices = quiet_modes,
     .help = "when oversubscribed: continue, use fewer workers, or wait"},
    {"quiet.load", VALUE_DECIMAL, AT(quiet.load), .preset = "1", .word = "off", .min = 1,
     .max = 1000000, .help = "oversubscribed above this load average per CPU"},
    {"quiet.cpu_pressure", VALUE_DECIMAL, AT(quiet.cpu_pressure), .preset = "0.4", .word = "off",
     .min = 1, .max = 1000,
     .help = "oversubscribed when tasks waited for a CPU this share of the time"},
    {"quiet.steal", VALUE_DECIMAL, AT(quiet.steal), .preset = "0.1", .word = "off", .min = 1,
     .max = 1000, .help = "oversubscribed when the hypervisor took this share of the CPUs"},
    {"quiet.workers", VALUE_COUNT, AT(quiet.workers), .preset = "1", .min = 1, .max = 1024,
     .help = "with \"fewer\": the number of workers while oversubscribed"},
    {"quiet.patience", VALUE_TIME, AT(quiet.patience_us), .preset = "1d", .word = "none",
     .min = SEC, .max = 365 * DAY, .help = "with \"wait\": longest wait of a push"},
};
#undef AT

#define AT(member) .offset = offsetof(struct git_config, member)
static const struct key git_keys[] = {
    {"memory", VALUE_SIZE, AT(memory), .preset = "auto", .word = "auto", .min = 16 * MIB,
     .max = 16 * TIB,
     .help = "hard limit of all git processes together; auto: 1/4 of the machine's memory"},
    {"pids", VALUE_COUNT, AT(pids), .preset = "256", .min = 8, .max = 4194304,
     .help = "maximum number of processes and threads of git"},
    {"cpu_weight", VALUE_COUNT, AT(cpu_weight), .preset = "50", .min = 1, .max = 10000,
     .help = "git's share of the CPUs when it competes with a run, which has 100"},
    {"disk", VALUE_SIZE, AT(disk), .preset = "auto", .word = "auto", .min = MIB, .max = 16 * TIB,
     .help = "disk space that git may use; auto: 3/4 of the free space above "
	     "run.disk_reserve"},
};
#undef AT

/* --- notifications ---------------------------------------------------------- */

static const char *const securities[] = {[SECURITY_REDACT] = "redact",
					 [SECURITY_REPOSITORY] = "repository",
					 [SECURITY_SKIP] = "skip",
					 [SECURITY_FULL] = "full",
					 [SECURITY_COUNT] = NULL};
static const char *const again[] = {[ISSUE_NONE] = "none",
				    [ISSUE_COMMENT] = "comment",
				    [ISSUE_ACT] = "reopen",
				    [ISSUE_COUNT] = NULL};
static const char *const fixed[] = {[ISSUE_NONE] = "none",
				    [ISSUE_COMMENT] = "comment",
				    [ISSUE_ACT] = "close",
				    [ISSUE_COUNT] = NULL};
static const char *const uploads[] = {[UPLOAD_NONE] = "none",
				      [UPLOAD_CONTENTS] = "contents",
				      [UPLOAD_PATH] = "path",
				      [UPLOAD_COUNT] = NULL};

#define AT(member) .offset = offsetof(struct github_config, member)
static const struct key github_keys[] = {
    {"repository", VALUE_TEXT, AT(repository), .wrong = wrong_repository,
     .help = "\"owner/name\" that gets an issue for each crash; unset: no issues"},
    {"api", VALUE_TEXT, AT(api), .preset = "https://api.github.com", .wrong = wrong_url,
     .help = "URL of GitHub's API"},
    {"token_file", VALUE_PATH, AT(token_file),
     .help = "file that holds the token, and nothing else"},
    {"token_env", VALUE_TEXT, AT(token_env), .wrong = wrong_variable,
     .help = "environment variable that holds the token"},
    {"app", VALUE_NUMBER, AT(app), .min = 1, .max = INT64_MAX, .preset = "none", .word = "none",
     .help = "number of a GitHub App that files the issues, instead of a token"},
    {"installation", VALUE_NUMBER, AT(installation), .min = 1, .max = INT64_MAX, .preset = "none",
     .word = "none", .help = "number of the App's installation"},
    {"app_key_file", VALUE_PATH, AT(app_key_file), .help = "file with the App's private key (PEM)"},
    {"labels", VALUE_WORDS, AT(labels),
     .help = "labels of a new issue; unset: fuzzing, crash, automated"},
    {"security", VALUE_CHOICE, AT(security), .preset = "redact", .choices = securities,
     .help =
	 "security-relevant crashes: without details, in another repository, not at all, in full"},
    {"security_repository", VALUE_TEXT, AT(security_repository), .wrong = wrong_repository,
     .help = "repository for security-relevant crashes"},
    {"on_again", VALUE_CHOICE, AT(on_again), .preset = "reopen", .choices = again,
     .help = "a crash is seen again after its issue was closed: comment, or comment and reopen"},
    {"on_fixed", VALUE_CHOICE, AT(on_fixed), .preset = "close", .choices = fixed,
     .help = "a crash is fixed: comment, or comment and close"},
    {"inline_limit", VALUE_SIZE, AT(inline_bytes), .preset = "4KiB", .word = "none", .min = 1,
     .max = 16 * KIB, .help = "a reproducer up to this size is part of the issue text"},
    {"upload", VALUE_CHOICE, AT(upload), .preset = "path", .choices = uploads,
     .help = "a larger reproducer: left out, uploaded to a branch, or named by its path on this "
	     "machine"},
    {"upload_branch", VALUE_TEXT, AT(upload_branch), .preset = "fuzzcell-reproducers",
     .wrong = wrong_branch, .help = "branch for uploads; created if missing"},
    {"upload_dir", VALUE_TEXT, AT(upload_dir), .preset = "crashes", .wrong = wrong_subdir,
     .help = "directory on that branch"},
    {"new_per_day", VALUE_COUNT, AT(new_per_day), .preset = "20", .min = 1, .max = 10000,
     .help = "maximum number of new issues a day; the rest waits"},
};
#undef AT

static const char *const formats[] = {
    [WEBHOOK_SLACK] = "slack", [WEBHOOK_GENERIC] = "generic", [WEBHOOK_COUNT] = NULL};
static const char *const events[] = {"new", "fixed", "regressed", "run-failed", "silent", NULL};

#define AT(member) .offset = offsetof(struct webhook_config, member)
static const struct key webhook_keys[] = {
    {"name", VALUE_TEXT, KEY_REQUIRED, AT(name), .wrong = wrong_name,
     .help = "name of the webhook in messages and in the state"},
    {"url", VALUE_TEXT, AT(url), .wrong = wrong_url, .help = "where the payload is sent"},
    {"url_file", VALUE_PATH, AT(url_file),
     .help = "file that holds the URL, if the URL is a secret"},
    {"format", VALUE_CHOICE, AT(format), .preset = "slack", .choices = formats,
     .help = "format of the payload: text and blocks for Slack, or all details as JSON"},
    {"secret_file", VALUE_PATH, AT(secret_file),
     .help = "file with the key of the signature (HMAC-SHA256)"},
    {"events", VALUE_WORDS, AT(events), .choices = events, .help = "events to send; unset: all"},
};
#undef AT

#define AT(member) .offset = offsetof(struct outbox_config, member)
static const struct key outbox_keys[] = {
    {"alarm", VALUE_TIME, AT(alarm_us), .preset = "1d", .min = SEC, .max = 365 * DAY,
     .help = "a notification that is undelivered for this long raises an alarm"},
    {"retry_max", VALUE_TIME, AT(retry_max_us), .preset = "1h", .min = SEC, .max = 7 * DAY,
     .help = "maximum backoff between two deliveries"},
    {"silent", VALUE_TIME, AT(silent_us), .preset = "7d", .word = "never", .min = SEC,
     .max = 365 * DAY, .help = "notify about a target that was not fuzzed for this long"},
};
#undef AT

static const char *const downloads[] = {[DOWNLOADS_PUBLIC] = "public",
					[DOWNLOADS_ALL] = "all",
					[DOWNLOADS_NONE] = "none",
					[DOWNLOADS_COUNT] = NULL};

#define AT(member) .offset = offsetof(struct serve_config, member)
static const struct key serve_keys[] = {
    {"downloads", VALUE_CHOICE, AT(downloads), .preset = "public", .choices = downloads,
     .help = "crashes with input and report for download; public: all but "
	     "security-relevant ones"},
};
#undef AT

#define AT(member) .offset = offsetof(struct bisect_config, member)
static const struct key bisect_keys[] = {
    {"daily", VALUE_TIME, AT(daily_us), .preset = "1h", .word = "off", .min = SEC, .max = DAY,
     .help = "time in a day to find the commits of new crashes after a run; without "
	     "trigger.repository it is off"},
    {"cache", VALUE_SIZE, AT(cache), .preset = "4GiB", .min = MIB, .max = 16 * TIB,
     .help = "built targets of other commits that are kept"},
};
#undef AT

/* --- all ------------------------------------------------------------------------ */

_Static_assert(COUNT(github_keys) <= SCHEMA_MAX_KEYS, "raise SCHEMA_MAX_KEYS");

const struct schema schema_root = {"at the top level", root_keys, COUNT(root_keys)};
const struct schema schema_run = {"in \"run\"", run_keys, COUNT(run_keys)};
const struct schema schema_target = {"in \"defaults\" or \"targets\"", target_keys,
				     COUNT(target_keys)};
const struct schema schema_source = {"in \"discovery\"", source_keys, COUNT(source_keys)};
const struct schema schema_git = {"in \"git\"", git_keys, COUNT(git_keys)};
const struct schema schema_trigger = {"in \"trigger\"", trigger_keys, COUNT(trigger_keys)};
const struct schema schema_github = {"in \"github\"", github_keys, COUNT(github_keys)};
const struct schema schema_webhook = {"in \"webhooks\"", webhook_keys, COUNT(webhook_keys)};
const struct schema schema_outbox = {"in \"outbox\"", outbox_keys, COUNT(outbox_keys)};
const struct schema schema_serve = {"in \"serve\"", serve_keys, COUNT(serve_keys)};
const struct schema schema_bisect = {"in \"bisect\"", bisect_keys, COUNT(bisect_keys)};

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
