/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CRASH_REPORTS_H
#define TESTS_CRASH_REPORTS_H

/* Helpers for the tests of reports.  Include unit.h first. */
#include "runner/crash/report/report.h"

#include <stdio.h>

static inline struct crash_report parse_with(const char *text, const struct crash_options *o)
{
	struct crash_report r;

	crash_parse(slice_of(text), o, &r);
	return r;
}

static inline struct crash_report parse(const char *text)
{
	return parse_with(text, NULL);
}

/* Lines of the state with '|' between them. */
static inline const char *state_of(const struct crash_report *r, char buf[1024])
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < r->n_state; i++)
		n += (size_t)snprintf(buf + n, 1024 - n, "%s%s", i ? "|" : "", r->state[i]);
	return buf;
}

/* Names of the frames with '|' between them. */
static inline const char *frames_of(const struct crash_report *r, char buf[1024])
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < r->n_frames && n < 1024; i++)
		n += (size_t)snprintf(buf + n, 1024 - n, "%s%s", i ? "|" : "",
				      r->frames[i].function);
	return buf;
}

struct reading {
	const char *text, *type, *state;
	enum crash_kind kind;
	bool security;
};

static inline void check_readings(const struct reading *t, size_t n)
{
	char buf[1024];

	for (size_t i = 0; i < n; i++) {
		struct crash_report r = parse(t[i].text);

		if (strcmp(r.type, t[i].type) != 0)
			fail_msg("type '%s', not '%s', of:\n%s", r.type, t[i].type, t[i].text);
		if (strcmp(state_of(&r, buf), t[i].state) != 0)
			fail_msg("state '%s', not '%s', of:\n%s", buf, t[i].state, t[i].text);
		if (r.kind != t[i].kind)
			fail_msg("kind '%s' of:\n%s", crash_kind_name(r.kind), t[i].text);
		if (r.security != t[i].security)
			fail_msg("security %d of:\n%s", r.security, t[i].text);
		crash_report_done(&r);
	}
}

#define CHECK_READINGS(t) check_readings(t, sizeof(t) / sizeof((t)[0]))

static inline void same_signature(const char *a, const char *b, bool same)
{
	struct crash_report ra = parse(a), rb = parse(b);

	if ((strcmp(ra.signature, rb.signature) == 0) != same)
		fail_msg("%s signature of:\n%s\nand:\n%s", same ? "not one" : "one", a, b);
	crash_report_done(&ra);
	crash_report_done(&rb);
}

#endif
