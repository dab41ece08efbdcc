/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_MODEL_SITE_H
#define RUNNER_SERVE_MODEL_SITE_H

#include "base/json.h"
#include "base/moment.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/serve/serve.h"

#include <sys/stat.h>

/* The models' input: the state directory, and the living run.  Caches expire: the living run's
 * answer after a second, the ledger when its file changes. */

enum {
	SITE_TARGETS_MAX = 4096,
	SITE_LIVE_MS = 1000,	   /* how long a living run's answer is valid */
	SITE_DEAF_MS = 5000,	   /* time until the next request to a run that timed out */
	SITE_STALE_MS = 30000,	   /* how long the last answer of such a run is shown */
	SITE_ASK_MS = 200,	   /* how long to wait for an answer */
	SITE_RUNS_SEARCHED = 20,   /* in search of a run that ended, or that has a summary */
	SITE_GONE_S = 30 * 86400,  /* a target that no run had for this time is gone */
	SITE_STATS_MAX = 16 << 20, /* bytes of a summary or of a target's statistics */
};

struct serve_site {
	const struct state *state;
	uint64_t now; /* 0: uses the clock */
	json_t *live; /* the living run's status; NULL: no run lives, or it does not answer */
	uint64_t live_until_us, heard_us;
	struct moment boot; /* of this machine; read before serve_drop() */
	struct ledger *ledger;
	struct stat ledger_stat;
	struct serve_limits limits;
	struct {
		ino_t inode;
		off_t size;
		uint64_t lines;
	} counted; /* the lines of the history of runs */
	/* Target -> {"size", "trend"}: the trend of its history, cached for that file size. */
	json_t *trends;
	json_t *summary; /* of the newest run that has a summary */
	/* For an export, which makes a page for each target: read once for all pages. */
	struct {
		bool on;
		json_t *targets, *fuzzed; /* all_targets(); stats/last_fuzzed.json */
	} snapshot;
};

uint64_t site_now(const struct serve_site *s);

/* -ESTALE: the state directory was moved or replaced.  The open directory gets no new results,
 * and after serve_drop() no other one can be opened. */
MUST_CHECK int site_there(const struct serve_site *s, struct err *e);

/* Begins an answer: asks the living run if its last status is no longer valid.  Until the next
 * call all functions see the same status and may borrow it. */
void site_begin(struct serve_site *s);
/* NULL: no run lives, or it does not answer. */
const json_t *site_live(const struct serve_site *s);
/* The living run's entry of a target; NULL: none. */
json_t *site_live_target(const struct serve_site *s, const char *target);
/* The id of the living run, or "". */
const char *site_live_run(const struct serve_site *s);

/* *ret is borrowed until the next call; serve_get() calls it, too.  Fails as site_there() does. */
MUST_CHECK int site_ledger(struct serve_site *s, const struct ledger **ret, struct err *e);

/* The newest n lines of the history of runs, newest first; *ret_damaged counts damaged lines. */
MUST_CHECK int site_runs(struct serve_site *s, size_t n, json_t **ret, uint64_t *ret_damaged,
			 struct err *e);
/* stats/last_fuzzed.json; json_decref() it.  NULL: it is missing or damaged; the next run
 * recreates it. */
json_t *site_times(struct serve_site *s);
/* The number of runs in the history. */
MUST_CHECK int site_runs_total(struct serve_site *s, uint64_t *ret, struct err *e);
/* The lines of a target's history, newest first.  A target that only waited has none;
 * then its entry in the newest summary is used.  Each line has "run"
 * and "ended".  -EBADMSG: there are lines, but none can be read. */
MUST_CHECK int site_target_lines(struct serve_site *s, const char *target, size_t n, json_t **ret,
				 struct err *e);
/* logs/<run>/<file>; -ENOENT: it is missing, or a name is invalid. */
MUST_CHECK int site_log(struct serve_site *s, const char *run, const char *file, json_t **ret,
			struct err *e);
/* True if the run's logs exist or it lives: then it has a page. */
bool site_run_kept(struct serve_site *s, const char *run);

/* The names of all targets, sorted.  site_target_pages() adds targets of which only a crash is
 * known. */
MUST_CHECK int site_targets(struct serve_site *s, json_t **ret, struct err *e);
MUST_CHECK int site_target_pages(struct serve_site *s, json_t **ret, struct err *e);
/* Is the name in the list of site_target_pages()? */
bool site_knows_target(struct serve_site *s, const char *name);

/* When the newest completed run ended, Unix seconds; 0: none. */
MUST_CHECK int site_last_end(struct serve_site *s, uint64_t *ret, struct err *e);
/* The time of the shown data, Unix seconds. */
MUST_CHECK int site_updated(struct serve_site *s, uint64_t *ret, struct err *e);

bool site_target_ok(const char *name);

#endif
