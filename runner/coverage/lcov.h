/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COVERAGE_LCOV_H
#define RUNNER_COVERAGE_LCOV_H

#include "base/err.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads source coverage in lcov's format of tracefiles (geninfo(1)), as `llvm-cov export
 * -format=lcov` writes it.  Pure, in linear time but for sorting.  The text is hostile: a program
 * names its files and functions. */

enum {
	LCOV_RECORDS_MAX = 20 * 1000 * 1000, /* files, lines, functions, branches of a tracefile */
	LCOV_NAME_MAX = 4096,		     /* bytes of a path or a function's name */
};

struct lcov_line {
	uint32_t line;
	uint64_t count;
};

struct lcov_function {
	char *name; /* owned; may hold any bytes but newlines and NUL */
	uint32_t line;
	uint64_t count;
};

/* A condition with two outcomes. */
struct lcov_branch {
	uint32_t line;
	uint64_t yes, no; /* how often it was true, and false */
};

struct lcov_file {
	char *path;
	struct lcov_line *lines; /* by line; each once */
	size_t n_lines;
	struct lcov_function *functions; /* by line */
	size_t n_functions;
	struct lcov_branch *branches; /* in the order of the text, which is by line */
	size_t n_branches;
};

struct lcov {
	struct lcov_file *v; /* in the order of the text */
	size_t n;
};
#define _autolcov_ CLEANUP(lcov_done) /* include base/cleanup.h */
void lcov_done(struct lcov *l);

/* -EBADMSG with the line's number: it is no tracefile. */
MUST_CHECK int lcov_parse(struct slice text, struct lcov *ret, struct err *e);

/* The function to which a line belongs: the last that begins at or before it.  NULL: none. */
const struct lcov_function *lcov_function_at(const struct lcov_file *f, uint32_t line);
/* The last line before the next function, or UINT32_MAX. */
uint32_t lcov_function_end(const struct lcov_file *f, const struct lcov_function *fn);

#endif
