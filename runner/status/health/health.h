/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_HEALTH_HEALTH_H
#define RUNNER_STATUS_HEALTH_HEALTH_H

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Problems of a target or of the service, and what to do about them.  Pure: facts in, findings
 * out; no clock, no files.  docs/health.md lists each code with its condition, and a test
 * compares the two.
 *
 * A target's facts are the JSON object of runner/status/summary.h.  A living run's answer,
 * <target>.stats and a line of stats/targets/<target>.jsonl all have this format.  The object is
 * not trusted: a value that is missing or of another type is unknown, and unknown values give no
 * finding. */

enum health_severity {
	HEALTH_OK,	/* nothing to do */
	HEALTH_NOTE,	/* it could be better */
	HEALTH_WARNING, /* much of the fuzzing is wasted */
	HEALTH_ERROR,	/* it does not work */
	HEALTH_SEVERITY_COUNT,
};
const char *health_severity_name(enum health_severity s); /* "ok", "note", ... */

enum health_code {
	/* of targets */
	HEALTH_NO_BINARY,
	HEALTH_NOT_FOUND,
	HEALTH_STARTUP_CRASH,
	HEALTH_NOT_FUZZED,
	HEALTH_NOT_INSTRUMENTED,
	HEALTH_IDLE,
	HEALTH_SILENT,
	HEALTH_FORGED_STATISTICS,
	HEALTH_COVERAGE_DROPPED,
	HEALTH_CRASHES_DOMINATE,
	HEALTH_LEAKS_DOMINATE,
	HEALTH_TIMEOUTS_DOMINATE,
	HEALTH_OOM_DOMINATE,
	HEALTH_SYSCALLS_REFUSED,
	HEALTH_FORKS_REFUSED,
	HEALTH_DISK_LIMIT,
	HEALTH_GIVEN_UP,
	HEALTH_FEW_EDGES,
	HEALTH_UNTRIAGED,
	HEALTH_CHECK_BEHIND,
	HEALTH_SLOW,
	HEALTH_STARVED,
	HEALTH_NO_TURN,
	HEALTH_MEMORY_NEAR_LIMIT,
	HEALTH_WEAK_SEEDS,
	HEALTH_MAGIC_BYTES,
	HEALTH_CHECKSUM_GATE,
	HEALTH_STRUCTURE,
	HEALTH_TOO_BROAD,
	HEALTH_COVERED,
	HEALTH_NOT_GROWING,
	HEALTH_DICTIONARY_UNUSED,
	HEALTH_NO_SEEDS,
	HEALTH_OUTPUT_LOST,
	/* of the service; DAMAGED also of a target */
	HEALTH_OUTBOX_STUCK,
	HEALTH_DISK_LOW,
	HEALTH_RUN_LOST,
	HEALTH_SHARD_LOST,
	HEALTH_TRIGGER_FAILING,
	HEALTH_DAMAGED,
	HEALTH_NAME_UNKNOWN,
	HEALTH_CODE_COUNT,
};
const char *health_code_name(enum health_code c); /* "startup-crash", ... */

enum { HEALTH_REASON_MAX = 400, HEALTH_FINDINGS_MAX = 32 };

struct health_finding {
	enum health_code code;
	enum health_severity severity;
	char reason[HEALTH_REASON_MAX]; /* with figures; one printable line */
	const char *advice;		/* what to do; static */
};

/* Findings, worst first. */
struct health {
	struct health_finding v[HEALTH_FINDINGS_MAX];
	size_t n;
	bool known; /* something could be judged: a target was fuzzed, or fuzzing failed */
};
/* The severity of the worst finding; HEALTH_OK without findings. */
enum health_severity health_severity(const struct health *h);

/* --- a target -------------------------------------------------------------- */

enum health_known { HEALTH_UNKNOWN, HEALTH_YES, HEALTH_NO };

/* Zero values are unknown. */
struct health_target {
	const json_t *stats;		/* borrowed: the newest; NULL: no run had the target */
	uint64_t now;			/* Unix seconds */
	uint64_t fuzzed, first;		/* when it was last fuzzed, and when a run first had it */
	uint64_t grown;			/* when a run last reached new coverage, Unix seconds */
	bool waited;			/* the last run that had it ended before its turn */
	uint64_t silent_s;		/* not fuzzed for this time: a finding */
	enum health_known found, built; /* by discovery, if it ran */
	const char *damaged;		/* the problem of its history; NULL: none */
};
void health_judge(const struct health_target *t, struct health *ret);

/* --- the service ----------------------------------------------------------- */

struct health_service {
	uint64_t now; /* Unix seconds */
	struct {
		uint64_t waiting, refused;
		uint64_t oldest;	 /* when the oldest pending entry was queued */
		uint64_t late_s;	 /* how long an entry may wait; 0: a day */
		const char *place, *why; /* of the oldest entry; NULL: unknown */
	} outbox;
	struct {
		bool known;
		uint64_t free, reserve; /* bytes */
	} disk;
	const char *lost_run; /* the last run, if it did not complete; else NULL */
	bool lost_left;	      /* its results are not saved yet */
	struct {
		uint64_t round, due; /* 0: there was no round; when its last shard was due */
		unsigned shards, lost;
		bool over; /* it has ended */
	} fleet;
	struct {
		uint64_t fetch_failures, fetch_since, run_failures;
		const char *why; /* or NULL */
	} trigger;
	struct {
		enum health_severity is; /* HEALTH_OK: all files can be read */
		const char *why;	 /* of the worst problem */
	} unreadable;
	const char *damaged; /* the first damaged file in quarantine; NULL: none */
	uint64_t damaged_n;
	const char *unknown; /* the first configured name that no target has; NULL: none */
	uint64_t unknown_n;
};
void health_judge_service(const struct health_service *s, struct health *ret);

/* --- as JSON --------------------------------------------------------------- */

/* {"target": target or null, "code": "slow", "severity": "warning", "reason": "...",
 * "advice": "..."} */
json_t *health_finding_json(const struct health_finding *f, const char *target);
/* {"severity": "warning", "known": true, "findings": [...]} */
json_t *health_json(const struct health *h, const char *target);

#endif
