/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COVERAGE_FUNCTIONS_H
#define RUNNER_COVERAGE_FUNCTIONS_H

#include "base/err.h"
#include "base/scan.h"
#include "runner/corpus/measure/bits.h"
#include "runner/coverage/lcov.h"

/* Source coverage by function, without a coverage build: from the places of a program's edges (its
 * debug information), and the edges that its corpus reaches.
 *
 * Few lines begin an edge, and an optimised build moves lines.  So a function is reached as a
 * whole, if one of its edges is: its lines are those from its first edge's to its last edge's.  A
 * function that was inlined counts as itself, too.  The engine counts from the first input on:
 * LLVMFuzzerInitialize() and constructors of global variables always count as reached.  What only
 * they call does not.
 *
 * Pure, in linear time but for sorting.  The text is hostile: a program names its files and
 * functions. */

enum {
	FUNCTIONS_EDGES_MAX = 1 << 20, /* of a program */
	FUNCTIONS_SPAN_MAX = 20000,    /* lines of a function; a longer one is not known */
};
#define FUNCTIONS_TEXT_MAX (UINT64_C(512) << 20) /* bytes of the symbolizer's answers */

/* answers: what `llvm-symbolizer -a -f -i -C` or `addr2line -a -f -i -C` printed for the address of
 * each edge, in their order.  reached: numbers of edges.
 * *ret: each file with functions, and their lines with the count 1 (reached) or 0.  Lines outside
 * of functions have no record.
 * -EBADMSG: answers are missing; -E2BIG: more than the limits. */
MUST_CHECK int functions_lcov(struct slice answers, size_t edges, const struct bits *reached,
			      struct lcov *ret, struct err *e);

#endif
