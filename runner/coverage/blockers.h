/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COVERAGE_BLOCKERS_H
#define RUNNER_COVERAGE_BLOCKERS_H

#include "runner/coverage/lcov.h"
#include "runner/coverage/listing.h"

/* What stands in the way: conditions in reached functions that only ever had one outcome, ranked
 * by how much code waits behind the other outcome.
 *
 * Behind a condition are the lines that follow it and were not reached, and those of the unreached
 * functions that they call, and so on.  Calls are found by name in the source text: "name(".  So a
 * call through a pointer is not seen, and without source text no call is.  A function that nothing
 * calls is behind no condition.
 *
 * In a program with very many conditions and calls, not all calls are followed.  The numbers behind
 * a condition can then be too low; near functions come before far ones.
 *
 * Which condition blocks a line is read from the order of lines, not from a graph of the program:
 * in code with jumps it can be a neighbour. */

struct blocker {
	const struct lcov_file *file;
	const struct lcov_function *function;
	uint32_t line;	    /* of the condition */
	struct slice text;  /* that line; "" without source text */
	bool missing;	    /* the outcome that never came */
	uint64_t evaluated; /* how often the condition was */
	uint64_t lines;	    /* not reached, behind it */
	uint64_t functions; /* not reached, behind it */
};

enum { BLOCKERS_MAX = 200, BLOCKERS_NAME_MAX = 128 };

/* At most BLOCKERS_MAX, the most lines first; an array that the caller frees.  It points into l,
 * and sorts its branches by line. */
void blockers_find(struct lcov *l, const struct listing *text, struct blocker **ret, size_t *ret_n);

/* The name by which source text calls a function: "parse" for "a.c:parse" and for
 * "ns::Reader<int>::parse(char*) const".  Empty: it has none. */
struct slice blockers_call_name(const char *function);

#endif
