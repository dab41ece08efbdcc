/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CI_DIFF_H
#define RUNNER_CI_DIFF_H

#include "base/err.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The lines that a change touches, from what `git diff --unified=0 --no-prefix` prints
 * (git-diff(1)). Pure.  The text is hostile: a push names the files. */

enum { DIFF_FILES_MAX = 100000, DIFF_HUNKS_MAX = 1000000, DIFF_PATH_MAX = 4096 };

/* Lines of the file before the change; last < first: nothing was there, and something was added
 * behind line `last`. */
struct diff_hunk {
	uint32_t first, last;
};

struct diff_file {
	char *path;  /* before the change; of a new file: after it */
	bool added;  /* a new file */
	bool opaque; /* its lines are not known: a submodule, or binary content */
	bool link;   /* a submodule, or a symbolic link: it may stand for any file */
	struct diff_hunk *hunks;
	size_t n;
};

struct diff {
	struct diff_file *v; /* by path */
	size_t n;
};
void diff_done(struct diff *d);

/* -E2BIG: more than the limits; -EBADMSG: not such a text. */
MUST_CHECK int diff_parse(struct slice text, struct diff *ret, struct err *e);

/* NULL: the change does not touch the file. */
const struct diff_file *diff_find(const struct diff *d, const char *path);
/* Whether the change touches a line of the file before the change, or adds one beside it. */
bool diff_touches(const struct diff_file *f, uint32_t line);

#endif
