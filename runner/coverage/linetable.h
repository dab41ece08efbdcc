/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COVERAGE_LINETABLE_H
#define RUNNER_COVERAGE_LINETABLE_H

#include "base/err.h"
#include "base/scan.h"
#include "runner/corpus/measure/bits.h"
#include "runner/coverage/lcov.h"
#include "runner/targets/pcs.h"
#include "runner/targets/symbols.h"

/* Source coverage without a coverage build: from the line table of a program's debug information,
 * its table of edges, and the edges that its corpus reaches.
 *
 * An optimised build joins, moves and inlines code, and few lines begin an edge.  So the unit is
 * the function as it is in the program, with all that was inlined into it: it is reached if one of
 * its edges is.  A line is reached if any of its machine code is in a reached function; it is not,
 * if all of it is in functions that are not.  A function without an edge of its own (not
 * instrumented, or the part that a compiler split off) counts as reached.  The engine counts from
 * the first input on: so do constructors of global variables, and all functions of a program with
 * LLVMFuzzerInitialize().
 *
 * Pure.  The text is hostile: a program names its files. */

enum {
	LINETABLE_ROWS_MAX = 20 * 1000 * 1000, /* of files that are wanted */
	LINETABLE_FILES_MAX = 4 * 1000 * 1000, /* of all compiled files together */
	LINETABLE_PATH_MAX = 4096,
	LINETABLE_SPAN_MAX = 20000, /* lines of a function; others have only their rows */
};

struct linetable;

/* Whether the lines of a file are wanted.  path: without "." and ".." where possible. */
typedef bool linetable_wants_fn(void *arg, const char *path);

/* Copies what it needs. */
struct linetable *linetable_new(const struct pcs *edges, const struct symbols *functions,
				linetable_wants_fn *wants, void *arg);
void linetable_free(struct linetable *t); /* NULL is fine */
/* Takes the next line of what `llvm-dwarfdump --debug-line` prints. */
void linetable_take(struct linetable *t, struct slice line);
/* After the last line.  -ENODATA: an edge has no function, or its function no line, so a part of
 * the program is not known; -E2BIG: more than the limits. */
MUST_CHECK int linetable_check(const struct linetable *t, struct err *e);
/* Whether the program has code of a wanted file. */
bool linetable_has_files(const struct linetable *t);

/* *ret: the files that are wanted, each line with machine code, with the count 1 (reached) or 0,
 * and the lines between those of a function.  Lines between functions have no record. */
MUST_CHECK int linetable_lcov(const struct linetable *t, const struct bits *reached,
			      struct lcov *ret, struct err *e);

#endif
