/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COVERAGE_SHELF_H
#define RUNNER_COVERAGE_SHELF_H

#include "base/strv.h"
#include "runner/state/state.h"

/* The coverage reports in the state directory:
 *
 *	coverage/<target>/report.json	the newest report; summary.json: the first rows of its lists
 *	coverage/<target>/lcov.info	its lines, functions and branches
 *	coverage/<target>/html/		its pages; missing if they were not made
 *	stats/coverage/<target>.jsonl	a line for each report: its totals, and what changed
 *
 * "@all" stands for all targets together.  A report is exchanged as a whole.  If its line is
 *missing after a kill, the next report writes it first: no line is lost or written twice. */

#define SHELF_ALL "@all"

enum {
	SHELF_FILES_MAX = 50000,     /* pages of a report */
	SHELF_DEPTH_MAX = 64,	     /* directories in directories */
	SHELF_SUMMARY_MAX = 1 << 20, /* bytes of summary.json */
};
#define SHELF_BYTES_MAX (UINT64_C(4) << 30)

/* The directory of the target's report; -1: there is none.  close() it. */
MUST_CHECK int shelf_open(const struct state *s, const char *target, int *ret, struct err *e);
/* Takes the report of the directory out, which the tools filled.  Only regular files are copied.
 * Blocks; needs the state's lock. */
MUST_CHECK int shelf_put(struct state *s, const char *target, int out, const json_t *report,
			 struct err *e);

/* The newest report's summary (report_summary()); *ret NULL: there is none. */
MUST_CHECK int shelf_summary(const struct state *s, const char *target, json_t **ret,
			     struct err *e);
/* Opens a page of the newest report: "index.html", or a path below the pages.  No link is
 * followed.  -ENOENT: there is no such page. */
MUST_CHECK int shelf_open_page(const struct state *s, const char *target, struct slice path,
			       int *ret, struct err *e);
/* Calls fn with the path of each page.  fn returns 0 or a negative error, which ends the walk. */
typedef int shelf_page_fn(void *arg, const char *path, struct err *e);
MUST_CHECK int shelf_each_page(const struct state *s, const char *target, shelf_page_fn *fn,
			       void *arg, struct err *e);

/* Copies the pages of a report (shelf_open()) into the open directory `to`.  -ENOENT: it has
 * none. */
MUST_CHECK int shelf_copy_pages(int report, int to, struct err *e);

/* Writes the lines, functions and branches of a report to an open file. */
MUST_CHECK int shelf_copy_lcov(int report, int to, struct err *e);
/* The names of the reports, sorted; SHELF_ALL is not among them. */
MUST_CHECK int shelf_names(const struct state *s, struct strv *ret, struct err *e);

/* What changed since a time (Unix seconds) or a commit (NULL: the time decides): from the lines of
 * the history, {"since", "commit", "before": totals, "after": totals, "newly": [...], "lost":
 * [...]}.  The first report stands for those before it.  *ret NULL: there is no report, or none of
 * that commit. */
MUST_CHECK int shelf_changes(const struct state *s, const char *target, uint64_t since,
			     const char *commit, json_t **ret, struct err *e);

#endif
