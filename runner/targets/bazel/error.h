/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BAZEL_ERROR_H
#define RUNNER_TARGETS_BAZEL_ERROR_H

#include "base/lines.h"

/* The first error in the output of Bazel, or of the script that picks a Bazel, with all lines of
 * the error: the last line of a .bzl file's traceback names the mistake.  Memory is bounded.
 * All zero: nothing was read yet. */
enum { BAZEL_ERROR_MAX = 360, BAZEL_BLOCK_MAX = 4096 };

struct bazel_error {
	struct lines lines;
	char block[BAZEL_BLOCK_MAX]; /* the error's lines, joined; cut when they do not fit */
	size_t n;
	char last[BAZEL_ERROR_MAX]; /* the error's last line; without an error, the last of all */
	size_t n_last, whole_last;  /* kept, and as it was */
	enum { BAZEL_BEFORE_ERROR, BAZEL_IN_ERROR, BAZEL_IN_TRACEBACK, BAZEL_AFTER_ERROR } at;
};

void bazel_error_feed(struct bazel_error *s, struct slice output);
/* out: the error as one printable line; the middle of a long one is left out.  False: there was
 * no error, and out is the last line of all. */
bool bazel_error_end(struct bazel_error *s, char out[BAZEL_ERROR_MAX]);

#endif
