/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COVERAGE_REPORT_H
#define RUNNER_COVERAGE_REPORT_H

#include "base/err.h"
#include "base/json.h"

/* A coverage report as JSON (docs/json.md), made of what llvm-cov wrote: the totals of the program
 * and of its files, what stands in the way, and how reached functions differ from the report
 * before. */

enum {
	REPORT_TEXT_MAX = 512 << 20,   /* bytes of a tracefile or a listing */
	REPORT_SUMMARY_MAX = 64 << 20, /* bytes of summary.json */
	REPORT_JSON_MAX = 64 << 20,    /* bytes of a report */
	REPORT_FILES_MAX = 20000,      /* files of a report */
	REPORT_CHANGES_MAX = 1000,     /* names of functions; the numbers count all */
};

/* What llvm-cov does not know. */
struct report_facts {
	const char *target;		/* its name; "@all": all together */
	const char *commit;		/* NULL: unknown */
	uint64_t time;			/* Unix seconds */
	unsigned llvm;			/* version; 0: not known */
	uint64_t ran, failed, left_out; /* inputs */
	const char *why;		/* why inputs were left out, or "" */
	const char *notes;		/* the tools' first warning, or "" */
};

/* out: the directory that the tools filled (runner/run/coverage/tools.h).  before: the directory of
 * the report before; -1: there is none.  Blocks: it reads and sorts.  -EBADMSG: a file is not what
 * llvm-cov writes, or no line was reached.  -ENODATA: the program has no lines. */
MUST_CHECK int report_make(int out, int before, const struct report_facts *f, json_t **ret,
			   struct err *e);

/* The report for a page: without files, and with the first REPORT_SUMMARY_ROWS of each list. */
enum { REPORT_SUMMARY_ROWS = 10 };
json_t *report_summary(const json_t *report);

/* The line for the target's history: time, commit, totals, inputs and changes. */
json_t *report_history_line(const json_t *report);

#endif
