/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COVERAGE_LISTING_H
#define RUNNER_COVERAGE_LISTING_H

#include "base/scan.h"

#include <stddef.h>
#include <stdint.h>

/* The source text of a program, from what `llvm-cov show -format=text` printed: for each file
 *
 *	/src/a.c:
 *	    7|      3|	if (size > 4)
 *
 * So only llvm-cov opens source files, in a cell, and no path that a program names is opened by
 * us.  Pure.  The text is hostile. */

enum { LISTING_LINES_MAX = 20 * 1000 * 1000 };

struct listing_file {
	struct slice path;
	struct slice *lines; /* [0] is line 1 */
	size_t n;	     /* at least 1 */
};

struct listing {
	struct listing_file *v; /* by path; files without lines are left out */
	size_t n;
};
#define _autolisting_ CLEANUP(listing_done) /* include base/cleanup.h */
void listing_done(struct listing *l);

/* text is borrowed by *ret.  only: the path of a listing that has one file and no header; or
 * NULL.  What is not understood is left out. */
void listing_parse(struct slice text, const char *only, struct listing *ret);

/* The file's text, the first if there are several; NULL: it is not there. */
const struct listing_file *listing_find(const struct listing *l, const char *path);
/* "": there is no such line. */
struct slice listing_line(const struct listing_file *f, uint32_t line);

#endif
