/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "runner/config/schema.h"

#include <ctype.h>
#include <stddef.h>

/* The unattended parts: discovery, triggers and notifications. */

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define KIB (INT64_C(1) << 10)
#define MIB (INT64_C(1) << 20)
#define TIB (INT64_C(1) << 40)
#define SEC ((int64_t)USEC_PER_SEC)
#define DAY (86400 * SEC)

/* --- texts ----------------------------------------------------------------- */

static bool only(const char *s, size_t n, const char *more)
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

	if (slash && only(s, (size_t)(slash - s), "-") && only(name, strlen(name), "-_.") &&
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
	return strlen(s) <= 64 && only(s, strlen(s), "-_.") && *s != '.' && *s != '-'
		   ? NULL
		   : "is not a name of at most 64 letters, digits, \"-\", \"_\" and \".\"";
}

static const char *wrong_variable(const char *s)
{
	return strlen(s) <= 128 && only(s, strlen(s), "_") && !isdigit((unsigned char)*s)
		   ? NULL
		   : "is not the name of an environment variable";
}

/* git-check-ref-format(1); also refuses names that look like an option. */
static const char *wrong_branch(const char *s)
{
	size_t n = strlen(s);

	if (n > 0 && n <= 200 && only(s, n, "-_./+@#") && *s != '-' && *s != '/' && *s != '.' &&
	    s[n - 1] != '/' && s[n - 1] != '.' && !strstr(s, "..") && !strstr(s, "//") &&
	    !strstr(s, "/.") && !strstr(s, "@{") && !strstr(s, ".lock"))
		return NULL;
	return "is not the name of a branch";
}

/* A directory in the repository that receives uploads. */
static const char *wrong_subdir(const char *s)
{
	return *s != '/' && strlen(s) <= 200 && only(s, strlen(s), "-_./") && !strstr(s, "..") &&
		       !strstr(s, "//")
		   ? NULL
		   : "is not a directory within a repository, such as \"crashes\"";
}

/* --- where targets come from ------------------------------------------------ */

static const char *const isolations[] = {
    [ISOLATION_NONE] = "none", [ISOLATION_CELL] = "cell", [ISOLATION_COUNT] = NULL};
static const char *const source_types[] = {"directory", "manifest", "bazel", NULL};

#define AT(member) .offset = offsetof(struct source_config, member)
static const struct key source_keys[] = {
    {"type", VALUE_CHOICE, KEY_REQUIRED, AT(type), .choices = source_types,
     .help = "an output directory in the OSS-Fuzz layout, a JSON manifest, or a Bazel workspace"},
    {"path", VALUE_PATH, KEY_REQUIRED, AT(v.path),
     .help = "the directory, the manifest, or the workspace's directory"},
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

_Static_assert(COUNT(github_keys) <= SCHEMA_MAX_KEYS, "raise SCHEMA_MAX_KEYS");

const struct schema schema_source = {"in \"discovery\"", source_keys, COUNT(source_keys)};
const struct schema schema_git = {"in \"git\"", git_keys, COUNT(git_keys)};
const struct schema schema_trigger = {"in \"trigger\"", trigger_keys, COUNT(trigger_keys)};
const struct schema schema_github = {"in \"github\"", github_keys, COUNT(github_keys)};
const struct schema schema_webhook = {"in \"webhooks\"", webhook_keys, COUNT(webhook_keys)};
const struct schema schema_outbox = {"in \"outbox\"", outbox_keys, COUNT(outbox_keys)};
const struct schema schema_serve = {"in \"serve\"", serve_keys, COUNT(serve_keys)};
