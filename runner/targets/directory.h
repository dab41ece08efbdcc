/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_DIRECTORY_H
#define RUNNER_TARGETS_DIRECTORY_H

#include "runner/targets/names.h"
#include "runner/targets/source.h"

/* The parts of one scan of an output directory; nobody else includes this. */

/* A file beside a target, or a directory of seeds. */
struct side {
	const char *name; /* in scan.names */
	struct slice target;
	enum names_side kind; /* SIDE_NONE: a directory of seeds */
	bool used;
};

struct scan {
	const char *path;   /* as the configuration names it */
	char *real;	    /* absolute */
	int fd;		    /* the directory */
	struct strv names;  /* sorted */
	struct side *sides; /* in the order of names */
	size_t n_sides;
	uint64_t searched;
	struct target_list *out;
};

struct place scan_place(const struct scan *s, const char *name);

/* What stands under a name; fd -1: nothing to take, why says the reason ("": it is
 * gone meanwhile). */
struct found {
	int fd;
	bool is_dir;
	bool warning;
	char why[200];
	char *real; /* where it really is, absolute; below scan.real */
};

void found_done(struct found *f);

/* Opens name if it is a regular file or a directory that lies below the scanned one.
 * Why not is in *ret, no error; a negative result is the machine's. */
MUST_CHECK int look(const struct scan *s, const char *name, struct found *ret, struct err *e);
/* Makes f one that was not taken. */
void look_refuse(struct found *f, bool warning, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Gives each target of s->out what stands beside it, and marks that as used. */
MUST_CHECK int sides_attach(struct scan *s, struct err *e);
/* Warns of those that nobody used. */
MUST_CHECK int sides_note_orphans(struct scan *s, struct err *e);

#endif
