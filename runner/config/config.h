/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_CONFIG_H
#define RUNNER_CONFIG_CONFIG_H

#include "base/err.h"
#include "base/json.h"
#include "runner/engine/engine.h"

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

enum plateau_rule { PLATEAU_CPU_SILENCE, PLATEAU_WALL, PLATEAU_NONE, PLATEAU_ };

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
		uint64_t window_us; /* silence: effective CPU time, or wall time */
		uint64_t cap_us;    /* CPU time after which it ends in any case; 0: none */
	} plateau;
	uint32_t max_crashes; /* failures in one run after which it is given up */
	uint64_t triage_us, minimize_us, merge_us; /* 0: not at all */
	uint64_t symbolizer_memory;
	int32_t priority;	      /* higher first */
	uint64_t max_len, seed, runs; /* 0: the engine's choice; runs 0: no limit */
	bool enabled;
	char *dictionary;	       /* absolute, or NULL: the discovered one; "" : none */
	struct strv flags, env, seeds; /* seeds: absolute directories */
};
void target_config_done(struct target_config *c);

struct run_config {
	uint32_t workers;	/* 0: as many as CPUs */
	uint64_t total_time_us; /* 0: no cap */
	uint64_t log_limit;	/* bytes kept of a target's output */
	uint64_t disk_reserve;	/* free space below which nothing new is started */
	uint32_t generations;	/* earlier corpora that are kept */
};

struct config_source {
	char *type, *path; /* discover_source; path made absolute against the file's directory */
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
bool config_best_effort(const struct config *c);
/* NULL where the file does not say. */
const char *config_cgroup(const struct config *c);
const char *config_crun(const struct config *c);
const char *config_rootfs(const struct config *c);
const char *config_state_dir(const struct config *c);
const char *config_symbolizer(const struct config *c);

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
 * ...} with the keys of the top level ("cgroup"), of the run ("run.workers") and of
 * the target ("plateau.window"), in the order of the schema.  A value is what could
 * stand in the file (null: unset); "from" is "built-in", or place and section, or
 * "derived from memory", or "command line".  target NULL: no glob applies. */
MUST_CHECK int config_explain(const struct config *c, const char *target, json_t **ret,
			      struct err *e);
/* Globs under "targets" that match none of names: a likely typo. */
const char *config_unused_glob(const struct config *c, const char *const *names, size_t n,
			       size_t *io_next);

#endif
