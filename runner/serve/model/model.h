/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_MODEL_MODEL_H
#define RUNNER_SERVE_MODEL_MODEL_H

#include "runner/serve/internal.h"
#include "runner/serve/model/json.h"
#include "runner/serve/model/site.h"

/* What the models have in common: the rows of docs/api.md.  Each *ret is a new object. */

enum {
	MODEL_TARGETS = 200, /* of the overview */
	MODEL_PAGE = 80,     /* targets in a page of them, whatever they are called */
	MODEL_NEWEST = 20,   /* runs and crashes of the overview */
	MODEL_RUNS = 200,
	MODEL_CRASHES = 400,
	MODEL_TARGET_RUNS = 50,
	MODEL_POINTS = 500,
	MODEL_SAMPLE = 60, /* points in a page itself */
	MODEL_TREND = 8,   /* runs in a row of a target */
	MODEL_RUN_TARGETS = 400,
};

/* What rows need to know that is the same for all of them; done by base_done(). */
struct model_base {
	struct serve_site *site;
	const struct ledger *ledger; /* borrowed */
	json_t *open;		     /* target -> its open crashes, a number */
	json_t *fuzzed;		     /* stats/last_fuzzed.json; NULL: none */
};
#define _autobase_ __attribute__((cleanup(base_done)))
MUST_CHECK int base_load(struct serve_site *s, struct model_base *ret, struct err *e);
void base_done(struct model_base *b);

/* All of one target. */
struct model_target {
	json_t *lines;	      /* newest first */
	json_t *trend;	      /* edges at the ends of its newest runs, oldest first */
	json_t *now;	      /* the living run's, or the newest line; NULL: nothing is known */
	bool live;	      /* the former */
	const json_t *living; /* borrowed: what a living run says of it, if only that it waits */
	bool known;	      /* it was fuzzed, or could not be */
	json_t *findings;     /* worst first; each as docs/api.md says */
	char damaged[500];    /* why its history cannot be read, or "" */
};
#define _autotarget_ __attribute__((cleanup(target_facts_done)))
MUST_CHECK int target_facts(struct model_base *b, const char *name, size_t lines,
			    struct model_target *ret, struct err *e);
void target_facts_done(struct model_target *t);

MUST_CHECK int row_target(struct model_base *b, const char *name, const struct model_target *t,
			  json_t **ret, struct err *e);
MUST_CHECK int row_run(struct serve_site *s, const json_t *line, json_t **ret, struct err *e);
/* Of one whose summary is not there, or damaged; -ENOENT: nothing of it is there. */
MUST_CHECK int run_without_summary(struct serve_site *s, const char *run, bool damaged,
				   json_t **ret_row, json_t **ret_targets, struct err *e);
/* The living run's; NULL when there is none. */
MUST_CHECK int row_live(struct serve_site *s, json_t **ret, struct err *e);
MUST_CHECK int row_crash(const struct known_crash *c, json_t **ret, struct err *e);

/* Rows of crashes of a target (NULL: of all), open ones first, then the latest, at most n;
 * ret_total: of how many. */
MUST_CHECK int rows_crashes(const struct ledger *l, const char *target, size_t n, json_t **ret,
			    size_t *ret_total, struct err *e);
/* Rows of runs, newest first, the living one included. */
MUST_CHECK int rows_runs(struct serve_site *s, size_t n, json_t **ret, uint64_t *ret_damaged,
			 struct err *e);
/* How many there are, by what rows_runs() gave. */
MUST_CHECK int runs_total(struct serve_site *s, const json_t *rows, uint64_t damaged, uint64_t *ret,
			  struct err *e);

/* The record whose directory has this name (runner/crash/vault.h); NULL: none. */
const struct known_crash *crash_named(const struct ledger *l, const char *name);

/* A crash's files as they are: /downloads/<name>/<download_name()>. */
enum download { DOWNLOAD_INPUT, DOWNLOAD_MINIMIZED, DOWNLOAD_REPORT, DOWNLOAD_COUNT };
const char *download_name(enum download which);
/* The limits allow it. */
bool download_allowed(const struct serve_site *s, const struct known_crash *c);
bool download_has(const struct serve_site *s, const struct known_crash *c, enum download which);
MUST_CHECK int download_get(struct serve_site *s, const char *name, enum download which,
			    struct serve_answer *a, struct err *e);

/* "seed", "place", "report", "report_cut": what is kept beside its input. */
MUST_CHECK int report_part(const struct serve_site *s, const struct known_crash *c, struct make *m,
			   struct err *e);

/* The page of a crash; of a signature that is none, nothing. */
void crash_href(struct make *m, const char *key, const char *signature);
/* {"new": 1, ...} */
MUST_CHECK int crash_counts(const struct ledger *l, json_t **ret, struct err *e);

/* How bad a severity is: 0 ok, 1 note, 2 warning, 3 error. */
unsigned severity_rank(const char *severity);
const char *severity_name(unsigned rank);
/* The worst of a list of findings; "ok" when there are none. */
const char *findings_severity(const json_t *findings);

/* {"ok": 1, ..., "unknown": 2} of what all_targets() gives; the worst one's rank.  NULL: no
 * memory. */
json_t *severity_counts(const json_t *all, unsigned *ret_worst);

/* "v", "updated", "shows" (whose figures they are), "commits" (where their pages are). */
MUST_CHECK int model_begin(struct serve_site *s, struct make *m, struct err *e);

/* {"pending": 0, "oldest": null}; JSON null when it cannot be read. */
MUST_CHECK int outbox_part(struct serve_site *s, json_t **ret, struct err *e);

/* How many pages of targets there are, by their number. */
size_t target_pages(size_t targets);
/* All targets with their findings, by name: {"row": ..., "findings": [...], "failures": {...} or
 * null} each; those that are gone are left out. */
MUST_CHECK int all_targets(struct model_base *b, json_t **ret, struct err *e);

/* What is wrong and is no target's: the outbox, the disk. */
MUST_CHECK int service_findings(struct model_base *b, json_t **ret, struct err *e);
/* A target's, from what is known of it: t's findings, and whether anything is. */
MUST_CHECK int target_findings(struct model_base *b, const char *name, struct model_target *t,
			       struct err *e);

#endif
