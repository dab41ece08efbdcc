/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_REPORTS_CHECK_H
#define TESTS_REPORTS_CHECK_H

/* What a report of generate.sh is expected to be, and what the parser read in it. */
#include "base/json.h"
#include "runner/crash/report/report.h"

#include <stdio.h>

struct item {
	json_t *json; /* its object of expected.jsonl */
	struct crash_report is;
	char prefixed[256]; /* what differs when every line has a log's prefix; "" nothing */
};

/* The current test has failed; says why, as a comment in TAP. */
__attribute__((format(printf, 1, 2))) void fault(const char *fmt, ...);

/* The report against its line of expected.table. */
void check_report(const struct item *i);

/* Reads it again with a prefix before each line, of prefixes.h, and fills i->prefixed. */
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

/* Timeouts and the like: of the stack nothing is said, so neither of its keys. */
static inline bool has_site(const struct item *i)
{
	return has_frames(i) && field(i, "frames")[0] != '.';
}

#endif
