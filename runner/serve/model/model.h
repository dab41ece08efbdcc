/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_MODEL_MODEL_H
#define RUNNER_SERVE_MODEL_MODEL_H

#include "runner/rounds/past.h"
#include "runner/serve/internal.h"
#include "runner/serve/model/json.h"
#include "runner/serve/model/site.h"

/* Shared by the models: the rows of docs/api.md.  Each *ret is a new object. */

enum {
	MODEL_TARGETS = 200, /* in the overview */
	MODEL_PAGE = 80,     /* targets a page, even with the longest names */
	MODEL_NEWEST = 20,   /* runs and crashes in the overview */
	MODEL_RUNS = 200,
	MODEL_CRASHES = 400,
	MODEL_TARGET_RUNS = 50,
	MODEL_POINTS = 500,
	MODEL_SAMPLE = 60, /* points within a page */
	MODEL_TREND = 8,   /* runs in a target's row */
	MODEL_RUN_TARGETS = 400,
	MODEL_ROUNDS = 20,
	MODEL_SHARDS = 1024, /* of all rounds */
};

/* Data that all rows share; freed by base_done(). */
struct model_base {
	struct serve_site *site;
	const struct ledger *ledger; /* borrowed */
	json_t *open;		     /* target -> the number of its open crashes */
	json_t *fuzzed;		     /* stats/last_fuzzed.json; NULL: none */
};
#define _autobase_ __attribute__((cleanup(base_done)))
MUST_CHECK int base_load(struct serve_site *s, struct model_base *ret, struct err *e);
void base_done(struct model_base *b);

/* The facts of one target. */
struct model_target {
	json_t *lines;	      /* newest first */
	json_t *trend;	      /* edges at the ends of its newest runs, oldest first */
	json_t *now;	      /* from the living run, or the newest line; NULL: nothing is known */
	bool live;	      /* `now` is from the living run */
	const json_t *living; /* borrowed: the living run's entry of the target, also while it
			       * only waits */
	bool known;	      /* it was fuzzed, or fuzzing failed */
	json_t *findings;     /* worst first; in the format of docs/api.md */
	char damaged[500];    /* why its history cannot be read; "": it can */
};
#define _autotarget_ __attribute__((cleanup(target_facts_done)))
MUST_CHECK int target_facts(struct model_base *b, const char *name, size_t lines,
			    struct model_target *ret, struct err *e);
void target_facts_done(struct model_target *t);

json_t *row_target(struct model_base *b, const char *name, const struct model_target *t);
json_t *row_run(struct serve_site *s, const json_t *line);
json_t *row_round(const struct past_round *r); /* without its shards */
/* The row of the living run; NULL: no run lives. */
json_t *row_live(struct serve_site *s);
MUST_CHECK int row_crash(const struct known_crash *c, json_t **ret, struct err *e);

/* Rows of a target's crashes (NULL: of all targets), at most n: open ones first, then the
 * latest.  ret_total: the number of all. */
MUST_CHECK int rows_crashes(const struct ledger *l, const char *target, size_t n, json_t **ret,
			    size_t *ret_total, struct err *e);
/* Rows of runs, newest first, including the living run. */
MUST_CHECK int rows_runs(struct serve_site *s, size_t n, json_t **ret, uint64_t *ret_damaged,
			 struct err *e);
/* The number of all runs, given the results of rows_runs(). */
MUST_CHECK int runs_total(struct serve_site *s, const json_t *rows, uint64_t damaged, uint64_t *ret,
			  struct err *e);

/* The crash that has this directory name (runner/crash/vault.h); NULL: none. */
const struct known_crash *crash_named(const struct ledger *l, const char *name);

/* A crash's files, unchanged: /downloads/<name>/<download_name()>. */
enum download { DOWNLOAD_INPUT, DOWNLOAD_MINIMIZED, DOWNLOAD_REPORT, DOWNLOAD_COUNT };
const char *download_name(enum download which);
/* Do the limits allow downloads of this crash? */
bool download_allowed(const struct serve_site *s, const struct known_crash *c);
bool download_has(const struct serve_site *s, const struct known_crash *c, enum download which);
MUST_CHECK int download_get(struct serve_site *s, const char *name, enum download which,
			    struct serve_answer *a, struct err *e);

/* The page of a crash; sets nothing for an invalid signature. */
void crash_href(json_t *m, const char *key, const char *signature);
/* {"new": 1, ...} */
json_t *crash_counts(const struct ledger *l);

/* The newest coverage report of a target ("@all": of all together) as a part of a page's model;
 * JSON null: there is none. */
json_t *coverage_part(struct serve_site *s, const char *name);
/* A page of llvm-cov.  name: a target, or "all"; path: below the report's pages. */
MUST_CHECK int coverage_page(struct serve_site *s, const char *name, struct slice path,
			     struct serve_answer *a, struct err *e);

/* The rank of a severity: 0 ok, 1 note, 2 warning, 3 error. */
unsigned severity_rank(const char *severity);
const char *severity_name(unsigned rank);
/* The worst severity in a list of findings; "ok" for an empty list. */
const char *findings_severity(const json_t *findings);

/* {"ok": 1, ..., "unknown": 2} from the result of all_targets(); *ret_worst: the worst rank. */
json_t *severity_counts(const json_t *all, unsigned *ret_worst);

/* "v", "updated", "shows" (the run of the figures), "commits" (the URL of commits' pages). */
MUST_CHECK int model_begin(struct serve_site *s, json_t *m, struct err *e);

/* {"pending": 0, "oldest": null}; JSON null when the outbox cannot be read. */
json_t *outbox_part(struct serve_site *s);

/* The number of pages for this number of targets. */
size_t target_pages(size_t targets);
/* All targets with their findings, by name, each as {"row": ..., "findings": [...], "failures":
 * {...} or null}.  Targets that are gone are left out. */
MUST_CHECK int all_targets(struct model_base *b, json_t **ret, struct err *e);

/* The findings of the service: the outbox, the disk. */
json_t *service_findings(struct model_base *b);
/* Sets t's findings, and whether anything is known of the target. */
void target_findings(struct model_base *b, const char *name, struct model_target *t);

#endif
