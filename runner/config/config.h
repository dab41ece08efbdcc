/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_CONFIG_H
#define RUNNER_CONFIG_CONFIG_H

#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"

/* config.json: the schema is one table (runner/config/schema.c), documented in
 * docs/configuration.md.  Every mistake is refused with file, line and key:
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
/* Words of the program: never, where no dictionary is given, or also beside a given one. */
enum auto_dictionary { WORDS_OFF, WORDS_ALONE, WORDS_JOINED, WORDS_COUNT };
enum allocation { ALLOCATION_INDEX, ALLOCATION_EQUAL, ALLOCATION_QUEUE, ALLOCATION_COUNT };

/* What one target gets.  Times in microseconds, sizes in bytes. */
struct target_config {
	uint64_t memory;      /* hard limit */
	uint64_t rss_limit;   /* the engine's own; 0 in the file ("auto"): derived from memory */
	uint64_t memory_high; /* derived: between the two */
	uint32_t cpu_milli;   /* "cpus": 1.5 */
	uint32_t cpu_weight;
	uint32_t pids;
	uint64_t disk;		   /* what it may write outside /tmp */
	uint64_t scratch;	   /* size of /tmp; 0 in the file ("auto"): derived */
	uint64_t input_timeout_us; /* "timeout": one input */
	uint64_t max_time_us;	   /* "max_time": wall time of the target in a run */
	uint64_t grace_us;	   /* between the steps of stopping */
	struct {
		enum plateau_rule rule;
		uint32_t price_milli; /* thousandths of an edge per CPU-second */
		uint64_t window_us;   /* silence: effective CPU time, or wall time */
		bool forget;	      /* what earlier runs with the same binary say */
		uint64_t cap_us;      /* CPU time after which it ends in any case; 0: none */
	} plateau;
	uint32_t max_crashes; /* failures in one run after which it is given up; 0: never */
	uint64_t triage_us, minimize_us, merge_us; /* 0: not at all */
	uint64_t symbolizer_memory;
	int32_t priority;	      /* higher first */
	uint64_t max_len, seed, runs; /* 0: the engine's choice; runs 0: no limit */
	/* The plan's: the configuration says so, also with a word. */
	bool sets_max_len, sets_seed, sets_runs;
	bool enabled;
	enum auto_dictionary auto_dictionary;
	char *dictionary;	       /* absolute, or NULL: the discovered one; "" : none */
	struct strv flags, env, seeds; /* seeds: absolute directories */
};
void target_config_done(struct target_config *c);

struct run_config {
	uint32_t workers;	    /* 0: as many as CPUs */
	uint64_t total_time_us;	    /* 0: no cap */
	uint64_t log_limit;	    /* bytes kept of a target's output */
	uint64_t disk_reserve;	    /* free space below which nothing new is started */
	uint32_t generations;	    /* earlier corpora that are kept */
	enum allocation allocation; /* who gets the CPUs: runner/policy/share.h */
	uint64_t quantum_us;	    /* CPU time of a turn */
	uint32_t floor_milli;	    /* thousandths of the turns, for who waits longest */
	uint64_t hold_us;	    /* for a calm machine */
	bool adapt;		    /* fewer workers when the machine is under pressure */
	uint32_t overcommit_milli;  /* thousandths of the machine's memory */
};

/* A place of targets; paths made absolute against the file's directory.  What does not
 * go with its type is unset. */
struct config_source {
	char *type, *path;	/* runner/targets/discover.h */
	struct strv build;	/* the command that fills path, started in build_dir */
	char *build_dir;	/* with build: the directory where it starts */
	uint64_t build_time_us; /* of the build */
	bool build_as_root;	/* builds root's directory as root; else that is refused */
	/* Limits of the build, and of Bazel when it answers a question. */
	uint64_t build_memory, build_disk; /* 0: a share of what the machine has */
	uint32_t build_pids, build_cpu_weight;
	enum build_isolation { ISOLATION_NONE, ISOLATION_CELL, ISOLATION_COUNT } build_isolation;
	bool build_network;
	struct strv build_writable; /* with a cell: more writable directories */
	char *bazel, *query;	    /* "bazel": the program; the query for its targets */
	struct strv bazel_startup, bazel_flags;
};

/* Limits of git where it reads what a push brought. */
struct git_config {
	uint64_t memory, disk; /* 0: what the machine has decides */
	uint32_t pids, cpu_weight;
};

/* Where pushes come from, and when they start a run. */
enum quiet_mode { QUIET_OFF, QUIET_FEWER, QUIET_WAIT, QUIET_COUNT };
struct trigger_config {
	char *repository;      /* the work tree; NULL: nothing triggers */
	char *remote, *branch; /* "origin", "main" */
	uint64_t interval_us;  /* least time between the starts of two runs */
	uint64_t fetch_us;     /* a fetch may take this long */
	struct {
		enum quiet_mode mode;
		/* The machine is busy with other work when one of them is passed: thousandths
		 * of its CPUs, but "load" is thousandths of a runnable task a CPU; 0: not
		 * looked at. */
		uint32_t load, cpu_pressure, steal;
		uint32_t workers;     /* when it is */
		uint64_t patience_us; /* and a push waits no longer than this; 0: for ever */
	} quiet;
};

/* Where issues are filed.  Secrets are never in the configuration, only where they are. */
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
}; /* ACT: and reopen, or close */
enum upload_mode { UPLOAD_NONE, UPLOAD_CONTENTS, UPLOAD_PATH, UPLOAD_COUNT };
struct github_config {
	char *repository; /* "owner/name"; NULL: no issues */
	char *api;	  /* "https://api.github.com" */
	char *token_file, *token_env;
	uint64_t app, installation; /* of a GitHub App; 0: none */
	char *app_key_file;
	struct strv labels;
	enum security_mode security;
	char *security_repository;
	enum issue_action on_again; /* seen again after the issue was closed: comment and reopen */
	enum issue_action on_fixed; /* comment and close */
	uint64_t inline_bytes;	    /* a reproducer up to this goes into the body */
	enum upload_mode upload;    /* a larger one: to a branch, or its path is named */
	char *upload_branch, *upload_dir;
	uint32_t new_per_day; /* issues at most */
};

enum webhook_format { WEBHOOK_SLACK, WEBHOOK_GENERIC, WEBHOOK_COUNT };
struct webhook_config {
	char *name;	      /* for people, and what its deliveries are known by */
	char *url, *url_file; /* one of them */
	enum webhook_format format;
	char *secret_file;  /* HMAC key, or NULL */
	struct strv events; /* "new", "fixed", "regressed", "run-failed", "silent"; empty: all */
};

struct outbox_config {
	uint64_t alarm_us;     /* what can't be delivered for so long is an alarm */
	uint64_t silent_us;    /* a target that was not fuzzed for so long is an event; 0: never */
	uint64_t retry_max_us; /* longest wait between two tries */
};

/* Of which crashes `fuzzcell serve` offers the files. */
enum downloads_mode {
	DOWNLOADS_PUBLIC, /* of those that an issue would describe in full */
	DOWNLOADS_ALL,
	DOWNLOADS_NONE,
	DOWNLOADS_COUNT
};
struct serve_config {
	enum downloads_mode downloads;
};

struct config;

/* path NULL: the built-in values (nothing is discovered then). */
MUST_CHECK int config_load(const char *path, struct config **ret, struct err *e);
/* From text, as if it stood in a file of that name (tests, fuzzing). */
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
const struct webhook_config *config_webhooks(const struct config *c, size_t *ret_n);
bool config_best_effort(const struct config *c);
/* NULL where the file does not say. */
const char *config_cgroup(const struct config *c);
const char *config_crun(const struct config *c);
const char *config_rootfs(const struct config *c);
const char *config_state_dir(const struct config *c);
const char *config_symbolizer(const struct config *c);
const char *config_source_dir(const struct config *c);
const char *config_source_link(const struct config *c);

/* The values for one target, checked against each other (rss limit below the
 * memory limit, ...).  Free with target_config_done(). */
MUST_CHECK int config_resolve(const struct config *c, const char *target, struct target_config *ret,
			      struct err *e);

/* Sets one key for every target, after everything that the file says: "run.workers",
 * "defaults.max_time", "state_dir", ... (no lists, no sections).  text is what a
 * person types: "3", "2m", "none"; relative paths are relative to the working
 * directory.  The last one of a key wins.  Contradictions show in config_resolve(). */
MUST_CHECK int config_override(struct config *c, const char *key, const char *text, struct err *e);

/* Whether the file or the command line sets this key of a target (one that
 * config_resolve() accepts; the key must be in the schema). */
bool config_sets(const struct config *c, const char *target, const char *key);

/* The same for a person: {"memory": {"value": "2GiB", "from": "config.json:14 targets.\"css_*\""},
 * ...} with the keys of the target ("plateau.window"), of the top level ("cgroup") and of
 * its parts ("run.workers"), in the order of the schemas.  A value is what could
 * stand in the file (null: unset); "from" is "built-in", or place and section, or
 * "derived from memory", or "command line".  target NULL: no glob applies. */
MUST_CHECK int config_explain(const struct config *c, const char *target, json_t **ret,
			      struct err *e);
/* Globs under "targets" that match none of names: a likely typo. */
const char *config_unused_glob(const struct config *c, const char *const *names, size_t n,
			       size_t *io_next);

#endif
