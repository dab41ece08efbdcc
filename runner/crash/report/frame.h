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
	struct slice text;     /* the text behind number and address: function, file, module */
	struct slice function; /* as printed, with arguments */
	struct slice file;
	struct slice module;
	struct slice build_id;
	uint64_t line, column; /* 0 unknown */
	uint64_t offset;       /* in module */
	bool has_offset;
	/* "in FILE:LINE FUNCTION": the place belongs to the frame before, and this frame's own
	 * place is in the next frame.  The cause is a function name that ends in a newline. */
	struct {
		bool here;
		struct slice file;
		uint64_t line, column;
	} earlier;
};

/* Clang names an inlined frame after the message of a trap. */
#define FRAME_TRAP "__clang_trap_msg$"

/* False: the line is not a frame; *ret is unchanged. */
bool frame_parse(struct slice line, struct frame *ret);
/* Whether a line begins like a frame, "#3 0x55f0 in ", and what is behind that.  False: it may
 * still be a frame.  For most frames of a report this is enough. */
bool frame_begins(struct slice line, uint64_t *ret_number, struct slice *ret_rest);

/* Whether the function is the fuzz target itself: LLVMFuzzerTestOneInput(), or the function that a
 * fuzz test of Go passes to f.Fuzz(), "pkg.FuzzParse.func1".  The engine is below it. */
bool frame_is_harness(struct slice function);

enum { FRAME_NAME_MAX = 256 }; /* with its NUL */

/* A function's name without the parts that differ between builds or calls.  These are arguments,
 * template arguments, return type, anonymous namespaces, numbers of lambdas and closures, hashes,
 * and the suffixes of compilers for clones.  "" if nothing is left. */
void frame_name(struct slice function, char ret[FRAME_NAME_MAX]);
/* Copies the function as printed into cap bytes.  If it does not fit, "<...>" replaces template
 * arguments; if that is still too long, its end is cut. */
void frame_function(struct slice function, char *to, size_t cap);
/* Removes the hash from the end of a name of Rust; false: there is none. */
bool frame_rust_drop_hash(struct slice *io);

/* Selects the frames that do not identify a bug: sanitizer runtimes, engines, C libraries, and
 * functions that abort, allocate or copy for all callers.  The rules are in frame_rules.inc. */
enum frame_view {
	FRAME_VIEW_STATE = 1, /* the big platforms' three-frame state */
	FRAME_VIEW_OWN = 2,   /* our own frames and signatures */
	FRAME_VIEW_WIDE = 4,  /* the same plus frames of the C++ library, if nothing else is left */
	/* Functions that report a failure of their caller.  Frames without a name above them belong
	 * to them, too. */
	FRAME_VIEW_REPORTER = 8,
};

bool frame_ignored(const struct frame *f, enum frame_view view);

#endif
