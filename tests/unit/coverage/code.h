/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_COVERAGE_CODE_H
#define TESTS_UNIT_COVERAGE_CODE_H

/* A program in text, and what stands in the way in it.  Include unit.h first. */
#include "base/buf.h"
#include "base/memory.h"
#include "tests/unit/coverage/parsed.h"

#include <stdlib.h>

struct code {
	struct buf trace, listing;
	struct lcov l;
	struct listing text;
	struct blocker *v;
	size_t n;
};

#define CODE_INIT  ((struct code){.trace = BUF_INIT(64 << 20), .listing = BUF_INIT(64 << 20)})
#define _autocode_ CLEANUP(code_done)

static inline void code_done(struct code *c)
{
	free(c->v);
	lcov_done(&c->l);
	listing_done(&c->text);
	buf_done(&c->trace);
	buf_done(&c->listing);
}

/* A file.  records: of the tracefile, but for the lines.  lines: each with its count, "3|text";
 * "-|text": a line without code. */
static inline void code_add(struct code *c, const char *path, const char *records,
			    const char *lines)
{
	struct slice all = slice_of(lines), line;
	int number = 0;

	buf_printf(&c->trace, "SF:%s\n%s", path, records);
	buf_printf(&c->listing, "%s:\n", path);
	while (scan_line(&all, &line)) {
		struct slice count;

		number++;
		assert_true(scan_until(&line, '|', 32, &count));
		if (!slice_eq(count, SLICE("-")))
			buf_printf(&c->trace, "DA:%d,%.*s\n", number, (int)count.n, count.p);
		buf_printf(&c->listing, "%5d|%7.*s%.*s\n", number, (int)count.n, count.p,
			   (int)line.n, line.p);
	}
	buf_puts(&c->trace, "end_of_record\n");
	buf_puts(&c->listing, "\n");
}

/* Finds what stands in the way.  source: with the source text. */
static inline void code_find(struct code *c, bool source)
{
	struct err e;

	assert_int_equal(buf_check(&c->trace, &e), 0);
	assert_int_equal(buf_check(&c->listing, &e), 0);
	c->l = parsed_lcov(buf_str(&c->trace));
	listing_parse(source ? buf_slice(&c->listing) : SLICE(""), NULL, &c->text);
	blockers_find(&c->l, &c->text, &c->v, &c->n);
}

/* The blocker at this place of the ranking. */
static inline void code_blocks(const struct code *c, size_t at, uint32_t line, bool missing,
			       uint64_t lines, uint64_t functions)
{
	if (at >= c->n)
		fail_msg("there are only %zu blockers", c->n);
	if (c->v[at].line != line || c->v[at].missing != missing || c->v[at].lines != lines ||
	    c->v[at].functions != functions)
		fail_msg("blocker %zu: line %u never %s, %llu lines, %llu functions", at,
			 (unsigned)c->v[at].line, c->v[at].missing ? "true" : "false",
			 (unsigned long long)c->v[at].lines,
			 (unsigned long long)c->v[at].functions);
}

#endif
