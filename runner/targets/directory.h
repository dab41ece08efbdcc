/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_DIRECTORY_H
#define RUNNER_TARGETS_DIRECTORY_H

#include "runner/targets/names.h"
#include "runner/targets/source.h"

/* The parts of one scan of an output directory.  Private to the files of the scan. */

/* A file beside a target, or a directory of seeds. */
struct side {
	const char *name; /* in scan.names */
	struct slice target;
	enum names_side kind; /* SIDE_NONE: a directory of seeds */
	bool used;
};

struct scan {
	const char *path;   /* as in the configuration */
	char *real;	    /* absolute */
	int fd;		    /* the directory */
	struct strv names;  /* sorted */
	struct side *sides; /* in the order of names */
	size_t n_sides;
	uint64_t searched;
	struct target_list *out;
};

struct place scan_place(const struct scan *s, const char *name);

/* The file or directory behind a name.  fd -1: not usable, for the reason in why ("": it no longer
 * exists). */
struct found {
	int fd;
	bool is_dir;
	bool warning;
	char why[200];
	char *real; /* absolute path without links; below scan.real */
};

void found_done(struct found *f);

/* Opens name if it is a regular file or a directory below the scanned directory.  If not, *ret has
 * the reason, and the result is 0.  Negative: a system error. */
MUST_CHECK int look(const struct scan *s, const char *name, struct found *ret, struct err *e);
/* Closes f and sets why. */
void look_refuse(struct found *f, bool warning, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds the side files to each target of s->out, and marks them as used. */
MUST_CHECK int sides_attach(struct scan *s, struct err *e);
/* Adds a warning for each unused side file. */
void sides_note_orphans(struct scan *s);

#endif
