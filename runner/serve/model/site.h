/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_MODEL_SITE_H
#define RUNNER_SERVE_MODEL_SITE_H

#include "base/json.h"
#include "base/moment.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/serve/serve.h"

#include <sys/stat.h>

/* What the models read, from the state directory and from a living run.  Nothing here is kept for
 * longer than it is true: a living run's answer for a second, the ledger until its file changes. */

enum {
	SITE_TARGETS_MAX = 4096,
	SITE_LIVE_MS = 1000,	   /* how long a living run's answer is good */
	SITE_DEAF_MS = 5000,	   /* one that did not answer in time is asked again after */
	SITE_STALE_MS = 30000,	   /* and is shown so long as it was */
	SITE_ASK_MS = 200,	   /* what may be waited for an answer */
	SITE_RUNS_LOOKED_AT = 20,  /* for one that ended, one whose summary is there */
	SITE_GONE_S = 30 * 86400,  /* a target that no run had for so long is gone */
	SITE_STATS_MAX = 16 << 20, /* bytes of a summary or of a target's statistics */
};

struct serve_site {
	const struct state *state;
	uint64_t now; /* 0: the clock's */
	json_t *live; /* what a living run says; NULL: none, or it does not say */
	uint64_t live_until_us, heard_us;
	struct moment boot; /* of this machine; read while we may read all files */
	struct ledger *ledger;
	struct stat ledger_stat;
	struct serve_limits limits;
	struct {
		ino_t inode;
		off_t size;
		uint64_t lines;
	} counted; /* of the history of runs */
	/* Target -> {"size", "trend"}: what its history of that size made, which is read once. */
	json_t *trends;
	json_t *summary; /* of the newest run that has one */
	/* For an export, which makes a page for each target: read once, for all pages. */
	struct {
		bool on;
		json_t *targets, *fuzzed; /* all_targets(); stats/last_fuzzed.json */
	} snapshot;
};

uint64_t site_now(const struct serve_site *s);

/* -ESTALE: the path of the state directory does not lead to the one that is open.  That one tells
 * of no fuzzing any more, and serve_drop() left no way to open another. */
MUST_CHECK int site_there(const struct serve_site *s, struct err *e);

/* Begins an answer: asks the living run, if what it said last is no longer good.  Until the next
 * one all see the same, and may borrow it. */
void site_begin(struct serve_site *s);
/* NULL: no run lives, or it does not tell us. */
const json_t *site_live(const struct serve_site *s);
/* Its entry of a target; NULL: none. */
json_t *site_live_target(const struct serve_site *s, const char *target);
/* The id of the living run, or "". */
const char *site_live_run(const struct serve_site *s);

/* Borrowed until the next call, which serve_get() makes, too.  Fails as site_there() does. */
MUST_CHECK int site_ledger(struct serve_site *s, const struct ledger **ret, struct err *e);

/* The newest n lines of the history of runs, the newest first; damaged ones are counted. */
MUST_CHECK int site_runs(struct serve_site *s, size_t n, json_t **ret, uint64_t *ret_damaged,
			 struct err *e);
/* stats/last_fuzzed.json; json_decref() it.  NULL: it is not there, or damaged: the next run begins
 * it anew. */
json_t *site_times(struct serve_site *s);
/* How many runs there were. */
MUST_CHECK int site_runs_total(struct serve_site *s, uint64_t *ret, struct err *e);
/* A target's lines, the newest first; of one without any, because it only waited or its runs were
 * an older version's, what the newest run's summary says.  Each has "run" and "ended".  -EBADMSG:
 * there are lines, and none of them can be read. */
MUST_CHECK int site_target_lines(struct serve_site *s, const char *target, size_t n, json_t **ret,
				 struct err *e);
/* logs/<run>/<file>; -ENOENT: not there, or the names are no names. */
MUST_CHECK int site_log(struct serve_site *s, const char *run, const char *file, json_t **ret,
			struct err *e);
/* Its logs are there, or it lives: it has a page. */
bool site_run_kept(struct serve_site *s, const char *run);

/* The names of all targets, sorted; then those, too, of which only a crash is known. */
MUST_CHECK int site_targets(struct serve_site *s, json_t **ret, struct err *e);
MUST_CHECK int site_target_pages(struct serve_site *s, json_t **ret, struct err *e);
/* Whether it is among the latter. */
bool site_knows_target(struct serve_site *s, const char *name);

/* When the newest run that came to its end did, in Unix seconds; 0: none. */
MUST_CHECK int site_last_end(struct serve_site *s, uint64_t *ret, struct err *e);
/* When what is shown was last true, in Unix seconds. */
MUST_CHECK int site_updated(struct serve_site *s, uint64_t *ret, struct err *e);

bool site_run_ok(const char *run); /* digits and '-' */
bool site_target_ok(const char *name);

#endif
