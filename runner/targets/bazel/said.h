/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BAZEL_SAID_H
#define RUNNER_TARGETS_BAZEL_SAID_H

#include "base/lines.h"

/* The first error in the output of Bazel, or of the script that picks a Bazel, with all lines of
 * the error: the last line of a .bzl file's traceback names the mistake.  Memory is bounded.
 * All zero: nothing was read yet. */
enum { BAZEL_SAID_MAX = 360, BAZEL_BLOCK_MAX = 4096 };

struct bazel_said {
	struct lines lines;
	char block[BAZEL_BLOCK_MAX]; /* the error's lines, joined; cut when they do not fit */
	size_t n;
	char last[BAZEL_SAID_MAX]; /* the error's last line; without an error, the last of all */
	size_t n_last, whole_last; /* kept, and as it was */
	enum { BAZEL_SAID_NONE, BAZEL_SAID_ERROR, BAZEL_SAID_TRACEBACK, BAZEL_SAID_OVER } at;
};

void bazel_said_feed(struct bazel_said *s, struct slice output);
/* out: the error as one printable line; the middle of a long one is left out.  False: there was
 * no error, and out is the last line of all. */
bool bazel_said_end(struct bazel_said *s, char out[BAZEL_SAID_MAX]);

#endif
