/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_COVERAGE_TOOLS_OUT_H
#define TESTS_UNIT_COVERAGE_TOOLS_OUT_H

/* Directories with the files that the tools of a report write, below the directory of each test.
 * Include unit.h first. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/memory.h"
#include "runner/coverage/report.h"
#include "tests/unit/each.h"

#define TOOLS_MEASURE(covered, count) \
	"{\"count\": " #count ", \"covered\": " #covered ", \"percent\": 1.5}"
/* The measures of a summary: lines 2 of 5, functions 1 of 2, regions 3 of 7, branches 1 of 4. */
#define TOOLS_SUMMARY                                                                                          \
	"{\"lines\": " TOOLS_MEASURE(2, 5) ", \"functions\": " TOOLS_MEASURE(                                  \
	    1,                                                                                                 \
	    2) ", \"instantiations\": " TOOLS_MEASURE(1,                                                       \
						      2) ", \"regions\": " TOOLS_MEASURE(3,                    \
											 7) ", "               \
											    "\"br"             \
											    "anch"             \
											    "es\""             \
											    ":"                \
											    " " TOOLS_MEASURE( \
												1,             \
												4) "}"
#define TOOLS_JSON(totals, files)                                                   \
	"{\"data\": [{\"files\": [" files "], \"totals\": " totals "}], \"type\": " \
	"\"llvm.coverage.json.export\", \"version\": \"2.0.1\"}"
#define TOOLS_FILE(name) "{\"filename\": \"" name "\", \"summary\": " TOOLS_SUMMARY "}"
#define TOOLS_TRACE                                                                         \
	"SF:/src/a.c\nFN:1,f\nFN:4,a.c:g\nFNDA:1,f\nFNDA:0,a.c:g\nDA:1,1\nDA:2,1\nDA:3,0\n" \
	"DA:4,0\nDA:5,0\nBRDA:2,0,0,0\nBRDA:2,0,1,1\nend_of_record\n"
#define TOOLS_LISTING                                                                              \
	"    1|      1|void f(int x) {\n    2|      1|\tif (x == 1)  \r\n    3|      0|\t\tg(x); " \
	"}\n"                                                                                      \
	"    4|      0|void g(int x) {\n    5|      0|}\n\n"

/* Makes the directory, and opens it; close() it.  NULL: the file is missing. */
static inline int tools_out(const char *name, const char *summary, const char *trace,
			    const char *listing)
{
	struct err e;
	int fd = -1;

	if (fs_mkdirs(dir.fd, name, 0755, &e) < 0 || fs_open_dir(dir.fd, name, &fd, &e) < 0)
		fail_msg("%s", e.msg);
	if (summary)
		scratch_write(fd, "summary.json", summary);
	if (trace)
		scratch_write(fd, "lcov.info", trace);
	if (listing)
		scratch_write(fd, "listing", listing);
	return fd;
}

static const struct report_facts tools_facts = {
    .target = "png_fuzzer",
    .commit = "0123456789",
    .time = 1700000000,
    .llvm = 14,
    .ran = 812,
    .failed = 2,
    .left_out = 3,
    .why = "too many",
    .notes = "a warning",
};

/* The report of the directories, which must be possible. */
static inline json_t *tools_report(int out, int before, const struct report_facts *f)
{
	json_t *j = NULL;
	struct err e;

	if (report_make(out, before, f, &j, &e) < 0)
		fail_msg("%s", e.msg);
	return j;
}

#endif
