/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_FRAME_H
#define RUNNER_CRASH_REPORT_FRAME_H

#include "base/scan.h"

/* One line of a stack, in the formats of the sanitizers and of libFuzzer:
 *
 *   #3 0x55f0 in f(int) /src/a.c:38:32              the default
 *   #3 0x55f0 in f+0x1c (/bin/t+0x5ce92) (BuildId: a275)
 *   #3 0x55f0  (/bin/t+0x5ce92) (BuildId: a275)     not symbolized
 *   #3 f(int) /src/a.c:38 (t+0x5ce92)               TSan's default
 *   #3 0x55f0 f(int)                                Chrome's own
 *
 * Slices point into the line; an empty one is unknown. */
struct frame {
	uint64_t number;
	uint64_t pc;	       /* 0 unknown */
	struct slice text;     /* behind number and address: function, file, module */
	struct slice function; /* as printed, with arguments */
	struct slice file;
	struct slice module;
	struct slice build_id;
	uint64_t line, column; /* 0 unknown */
	uint64_t offset;       /* in module */
	bool has_offset;
	/* "in FILE:LINE FUNCTION": the place is that of the frame before, and this frame's own
	 * place stands in the next one.  A function that ends in a newline causes it. */
	struct {
		bool here;
		struct slice file;
		uint64_t line, column;
	} earlier;
};

/* Clang names an inlined frame after the message of a trap. */
#define FRAME_TRAP "__clang_trap_msg$"

/* False when the line is no frame; *ret is then unchanged. */
bool frame_parse(struct slice line, struct frame *ret);
/* Whether a line is a frame by its beginning, "#3 0x55f0 in ", and what is behind that; false
 * says nothing.  Most frames of a report need no more. */
bool frame_begins(struct slice line, uint64_t *ret_number, struct slice *ret_rest);

enum { FRAME_NAME_MAX = 256 }; /* with its NUL */

/* A function's name without what differs from build to build or from call to call:
 * arguments, template arguments, return type, anonymous namespaces, numbers of lambdas
 * and closures, hashes, and the suffixes that compilers add to clones.  "" when nothing is left. */
void frame_name(struct slice function, char ret[FRAME_NAME_MAX]);
/* The function as printed, into cap bytes: when it does not fit, "<...>" stands for
 * template arguments, and then its end is cut. */
void frame_function(struct slice function, char *to, size_t cap);

#endif
