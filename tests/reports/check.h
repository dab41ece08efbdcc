/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_REPORTS_CHECK_H
#define TESTS_REPORTS_CHECK_H

/* The expected reading of a report of generate.sh, and the parser's reading. */
#include "base/json.h"
#include "runner/crash/report/report.h"

#include <stdio.h>

struct item {
	json_t *json; /* the report's object in expected.jsonl */
	struct crash_report is;
	char prefixed[256]; /* the differences when every line has a log's prefix; "": none */
};

/* Marks the current test as failed; prints the reason as a comment in TAP. */
__attribute__((format(printf, 1, 2))) void fault(const char *fmt, ...);

/* Compares the report with its line of expected.table. */
void check_report(const struct item *i);

/* Parses the report again with a prefix of prefixes.h before each line, and fills i->prefixed. */
MUST_CHECK int check_prefixed(struct item *i, struct slice text, const struct crash_options *o,
			      unsigned way, struct err *e);

static inline const char *field(const struct item *i, const char *key)
{
	const char *text = json_string_value(json_object_get(i->json, key));

	return text ? text : "";
}

static inline bool is(const struct item *i, const char *key, const char *value)
{
	return strcmp(field(i, key), value) == 0;
}

static inline bool is_raw(const struct item *i)
{
	return strstr(field(i, "run"), "-raw") != NULL;
}

static inline bool has_frames(const struct item *i)
{
	return !is(i, "frames", "-");
}

/* For timeouts and similar ends neither the stack nor its keys are compared. */
static inline bool has_site(const struct item *i)
{
	return has_frames(i) && field(i, "frames")[0] != '.';
}

#endif
