/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_COVERAGE_PARSED_H
#define TESTS_UNIT_COVERAGE_PARSED_H

/* Text that was parsed.  Include unit.h first. */
#include "base/cleanup.h"
#include "runner/coverage/blockers.h"

#include <errno.h>

/* A tracefile that must be valid. */
static inline struct lcov parsed_lcov(const char *text)
{
	struct lcov l;
	struct err e;

	if (lcov_parse(slice_of(text), &l, &e) < 0)
		fail_msg("%s", e.msg);
	return l;
}

static inline void slice_is(struct slice s, const char *text)
{
	if (!slice_eq(s, slice_of(text)))
		fail_msg("'%.*s' is not '%s'", (int)s.n, s.p, text);
}

#endif
