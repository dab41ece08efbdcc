/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_CONFIG_H
#define RUNNER_CONFIG_CONFIG_H

#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"

/* config.json.  The schema is one table (runner/config/schema.c), documented in
 * docs/configuration.md.  Every mistake is an error with file, line and key:
 *   config.json:14: targets."css_*".memory: "2 apples" is not a size (use ...)
 *
 * {
 *   "enforcement": "strict",
 *   "cgroup": "/fuzz", "crun": "/usr/bin/crun", "rootfs": "/srv/root", "state_dir": "...",
 *   "run": {"workers": 2, "total_time": "4h", "log_limit": "8MiB", "disk_reserve": "1GiB"},
 *   "discovery": [{"type": "directory", "path": "out"}, {"type": "manifest", "path": "m.json"}],
 *   "defaults": {"memory": "2GiB", ...},
 *   "targets": {"css_*": {"memory": "4GiB"}, ...}
 * }
 * A target gets the built-in values, then "defaults", then every matching glob of
 * "targets" in the order of the file (the last one wins), then the command line. */

enum plateau_rule { PLATEAU_PRICE, PLATEAU_CPU_SILENCE, PLATEAU_WALL, PLATEAU_NONE, PLATEAU_COUNT };
/* A dictionary of words found in the program: never, only without a given dictionary, or joined
 * with the given dictionary. */
enum auto_dictionary { WORDS_OFF, WORDS_ALONE, WORDS_JOINED, WORDS_COUNT };
enum allocation { ALLOCATION_INDEX, ALLOCATION_EQUAL, ALLOCATION_QUEUE, ALLOCATION_COUNT };

/* The resolved values for one target.  Times in microseconds, sizes in bytes. */
struct target_config {
	uint64_t memory;      /* hard limit */
	uint64_t rss_limit;   /* the engine's own limit; "auto" in the file: derived from memory */
	uint64_t memory_high; /* derived: between rss_limit and memory */
	uint32_t cpu_milli;   /* "cpus": 1.5 */
	uint32_t cpu_weight;
	uint32_t pids;
	uint64_t disk;		   /* bytes that the target may write outside /tmp */
	uint64_t scratch;	   /* size of /tmp; "auto" in the file: derived from memory */
	uint64_t input_timeout_us; /* "timeout": limit for one input */
	uint64_t max_time_us;	   /* "max_time": wall time of the target in a run */
	uint64_t grace_us;	   /* between the steps of stopping */
	struct {
		enum plateau_rule rule;
		uint32_t price_milli; /* thousandths of an edge per CPU-second */
		uint64_t window_us;   /* longest silence, in effective CPU time or wall time */
		bool forget;	      /* ignore earlier runs with the same binary */
		uint64_t cap_us; /* CPU time after which the target ends in any case; 0: no cap */
	} plateau;
	uint32_t max_crashes; /* the target stops after this many failures in a run; 0: never */
	uint64_t triage_us, minimize_us, merge_us; /* 0: skip the step */
	uint64_t symbolizer_memory;
	int32_t priority;	      /* higher first */
	uint64_t max_len, seed, runs; /* 0: the engine's choice; runs 0: no limit */
	/* Set by the plan: whether the configuration sets the key, even to "auto" or "none". */
	bool sets_max_len, sets_seed, sets_runs;
	bool enabled;
	unsigned part;	 /* set by a shard: which of the shards with this target it is, from 0 */
	bool strategies; /* try other ways of the engine before the target ends */
	enum auto_dictionary auto_dictionary;
	char *dictionary; /* absolute path; NULL: the discovered dictionary; "": none */
	struct strv flags, env, seeds; /* seeds: absolute directories */
};
void target_config_done(struct target_config *c);

struct run_config {
	uint32_t workers;	    /* 0: as many as CPUs */
	uint64_t total_time_us;	    /* 0: no cap */
	uint64_t log_limit;	    /* bytes kept of a target's output */
	uint64_t disk_reserve;	    /* no cell starts with less free disk space than this */
	uint32_t generations;	    /* number of earlier corpora to keep */
	enum allocation allocation; /* which targets get CPUs: runner/policy/share.h */
	uint64_t turn_us;	    /* CPU time of a turn */
	uint32_t floor_milli;	    /* thousandths of the turns, for the longest waiting target */
	uint64_t hold_us;	    /* longest wait for CPU pressure to fall */
	bool adapt;		    /* fewer workers when the machine is under pressure */
	uint32_t overcommit_milli;  /* thousandths of the machine's memory */
	uint64_t coverage_us; /* a continuous run's coverage reports are at most this old; 0: off */
	uint32_t
	    check_milli; /* thousandths of the CPU time, for inputs in other builds of targets */
};

/* Where builds of the types "oss-fuzz" and "go" are: below the sources, so that a build cell may
 * write there. */
#define CONFIG_BUILDS_DIR ".fuzzcell-builds"

/* A place where targets come from.  Paths are absolute; relative paths in the file start at the
 * file's directory.  Members that do not apply to the type are unset. */
enum build_role {
	BUILD_ROLE_AUTO,
	BUILD_ROLE_CHECK,
	BUILD_ROLE_FUZZ,
	BUILD_ROLE_COVERAGE,
	BUILD_ROLE_COUNT
};
struct config_source {
	char *type, *path;    /* runner/targets/discover.h */
	char *variant;	      /* the name of these builds; NULL: main builds without a name */
	enum build_role role; /* AUTO: by the variant's name */
	/* The names of several builds, of which this is one: `variant`.  Each is a source of its
	 * own.  Empty: the source is not one of several. */
	struct strv variants;
	char *builds_dir; /* with variants: each build fills the directory builds_dir/VARIANT */
	bool is_main;	  /* targets of these builds are fuzzed */
	/* Type "oss-fuzz": the directory with project.yaml and build.sh.  Each of its builds is a
	 * source of the type "directory". */
	char *project_dir;
	struct strv project_notes; /* of the main build: what project.yaml names and is ignored */
	/* Why the source cannot be used (a mistake in project.yaml), for users; NULL: it can. */
	char *broken;
	struct strv build; /* the command that fills path; starts in build_dir */
	/* What users read instead of a command that they did not write; NULL: `build`. */
	const char *build_shown;
	char *build_dir;	/* set whenever build is set */
	uint64_t build_time_us; /* deadline of the build */
	bool build_as_root;	/* false: a build in a directory owned by root is refused */
	/* Limits of the build, and of Bazel queries. */
	uint64_t build_memory, build_disk; /* 0: a share of the machine's */
	uint32_t build_pids, build_cpu_weight;
	enum build_isolation { ISOLATION_NONE, ISOLATION_CELL, ISOLATION_COUNT } build_isolation;
	bool build_network;
	struct strv build_writable; /* ISOLATION_CELL only: more writable directories */
	char *bazel, *query;	    /* type "bazel": the program; the query for fuzz targets */
	struct strv bazel_startup, bazel_flags;
};

/* Limits of the git processes that read fetched data. */
struct git_config {
	uint64_t memory, disk; /* 0: a share of the machine's */
	uint32_t pids, cpu_weight;
};

/* Where pushes come from, and when they start a run. */
enum quiet_mode { QUIET_OFF, QUIET_FEWER, QUIET_WAIT, QUIET_COUNT };
struct trigger_config {
	char *repository;      /* the work tree; NULL: nothing triggers */
	char *remote, *branch; /* "origin", "main" */
	uint64_t interval_us;  /* minimum time between the starts of two runs */
	uint64_t fetch_us;     /* deadline of a fetch */
	struct {
		enum quiet_mode mode;
		/* The machine is oversubscribed by other work when one of these is exceeded.
		 * Thousandths of its CPUs; "load": thousandths of a runnable task per CPU.
		 * 0: ignored. */
		uint32_t load, cpu_pressure, steal;
		uint32_t workers;     /* number of workers while oversubscribed */
		uint64_t patience_us; /* longest wait of a push; 0: unlimited */
	} quiet;
};

/* Where issues are filed.  The configuration never holds secrets, only where to find them. */
enum security_mode {
	SECURITY_REDACT,
	SECURITY_REPOSITORY,
	SECURITY_SKIP,
	SECURITY_FULL,
	SECURITY_COUNT
};
enum issue_action {
	ISSUE_NONE,
	ISSUE_COMMENT,
	ISSUE_ACT,
	ISSUE_COUNT
}; /* ACT: comment, and reopen or close */
enum upload_mode { UPLOAD_NONE, UPLOAD_CONTENTS, UPLOAD_PATH, UPLOAD_COUNT };
struct github_config {
	char *repository; /* "owner/name"; NULL: no issues */
	char *api;	  /* "https://api.github.com" */
	char *token_file, *token_env;
	uint64_t app, installation; /* numbers of a GitHub App; 0: none */
	char *app_key_file;
	struct strv labels;
	enum security_mode security;
	char *security_repository;
	enum issue_action on_again; /* for a crash that is seen again after its issue was closed */
	enum issue_action on_fixed; /* for a fixed crash */
	uint64_t inline_bytes;	    /* a reproducer up to this size goes into the issue body */
	enum upload_mode upload;    /* a larger reproducer: upload to a branch, or name its path */
	char *upload_branch, *upload_dir;
	uint32_t new_per_day; /* maximum number of new issues a day */
};

enum webhook_format { WEBHOOK_SLACK, WEBHOOK_GENERIC, WEBHOOK_COUNT };
struct webhook_config {
	char *name;	      /* identifies the webhook and its deliveries */
	char *url, *url_file; /* exactly one is set */
	enum webhook_format format;
	char *secret_file;  /* HMAC key, or NULL */
	struct strv events; /* "new", "fixed", "regressed", "run-failed", "silent"; empty: all */
};

struct outbox_config {
	uint64_t alarm_us;  /* a notification that is undelivered for this long raises an alarm */
	uint64_t silent_us; /* notify about a target that was not fuzzed for this long; 0: never */
	uint64_t retry_max_us; /* maximum backoff between two deliveries */
};

/* The crashes for which `fuzzcell serve` offers downloads. */
enum downloads_mode {
	DOWNLOADS_PUBLIC, /* crashes that an issue would describe in full */
	DOWNLOADS_ALL,
	DOWNLOADS_NONE,
	DOWNLOADS_COUNT
};
struct serve_config {
	enum downloads_mode downloads;
};

/* Bisection of new crashes by itself, after runs. */
struct bisect_config {
	uint64_t daily_us; /* time for it in a day; 0: off */
	uint64_t cache;	   /* bytes of built targets of other commits that are kept */
};

struct config;

/* path NULL: the built-in values, without any discovery.  Reads the project.yaml of each source of
 * the type "oss-fuzz": a mistake there is no error here, but makes the source `broken`. */
MUST_CHECK int config_load(const char *path, struct config **ret, struct err *e);
/* Like config_load() for a file of that name with this content (tests, fuzzing).  Opens no file:
 * sources of the type "oss-fuzz" are `broken`. */
MUST_CHECK int config_parse(struct slice text, const char *name, struct config **ret,
			    struct err *e);
void config_free(struct config *c); /* NULL is fine */

const struct run_config *config_run(const struct config *c);
const struct config_source *config_sources(const struct config *c, size_t *ret_n);
const struct trigger_config *config_trigger(const struct config *c);
const struct git_config *config_git(const struct config *c);
const struct github_config *config_github(const struct config *c);
const struct outbox_config *config_outbox(const struct config *c);
const struct serve_config *config_serve(const struct config *c);
const struct bisect_config *config_bisect(const struct config *c);
const struct webhook_config *config_webhooks(const struct config *c, size_t *ret_n);
bool config_best_effort(const struct config *c);
/* NULL if unset. */
const char *config_cgroup(const struct config *c);
const char *config_crun(const struct config *c);
const char *config_rootfs(const struct config *c);
const char *config_state_dir(const struct config *c);
const char *config_symbolizer(const struct config *c);
const char *config_source_dir(const struct config *c);
const char *config_source_link(const struct config *c);

/* The build of a target for which values are resolved. */
struct config_target {
	const char *name;
	/* The target's name, of another build than the main build: globs that match it hold as
	 * well.  NULL: the main build. */
	const char *of;
	/* Such a build gets this many thousandths of the target's memory, unless a glob that
	 * matches only this build sets "memory".  0: the same. */
	uint32_t memory_milli;
};
/* A target's main build; NULL: no glob applies. */
#define CONFIG_TARGET(name_) (&(const struct config_target){.name = (name_)})

/* The values for one build.  Fails if values contradict each other (rss_limit above the memory
 * limit, ...).  Free with target_config_done(). */
MUST_CHECK int config_resolve(const struct config *c, const struct config_target *t,
			      struct target_config *ret, struct err *e);

/* Overrides one key of the file, for every target: "run.workers", "defaults.max_time",
 * "state_dir", ... (no lists, no sections).  text is as on the command line: "3", "2m", "none".
 * Relative paths start at the working directory.  The last override of a key wins.
 * config_resolve() reports contradictions. */
MUST_CHECK int config_override(struct config *c, const char *key, const char *text, struct err *e);

/* Whether the file or the command line sets this key of a target.  config_resolve() must accept
 * the target, and the key must be in the schema. */
bool config_sets(const struct config *c, const struct config_target *t, const char *key);

/* The values with their origins, for users:
 *   {"memory": {"value": "2GiB", "from": "config.json:14 targets.\"css_*\""}, ...}
 * The keys are those of the target ("plateau.window"), of the top level ("cgroup") and of its
 * parts ("run.workers"), in the order of the schemas.  A value is valid in the file (null: unset).
 * "from" is "built-in", place and section, "derived from memory", or "command line".
 */
MUST_CHECK int config_explain(const struct config *c, const struct config_target *t, json_t **ret,
			      struct err *e);
/* The next glob under "targets" that matches none of names (a likely typo), or NULL.
 * *io_next starts at 0. */
const char *config_unused_glob(const struct config *c, const char *const *names, size_t n,
			       size_t *io_next);

#endif
