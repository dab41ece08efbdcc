/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_WAY_H
#define BASE_WAY_H

#include "base/err.h"

#include <sys/stat.h>
#include <sys/types.h>

/* Where a path leads, and who can make it lead somewhere else.  The path is walked from "/"
 * by descriptors: each component is opened without following it, and judged by what was
 * opened.  A symbolic link counts, and so does all that it goes through.  "/" itself does
 * not: in a user namespace nobody owns it. */
enum { WAY_TEXT = 160 };

struct way_owner {
	uid_t uid;
	char path[WAY_TEXT]; /* the first component of theirs; its end when it is long */
};

struct way {
	int fd;			    /* O_PATH: what the path leads to; -1: nothing is there */
	int code;		    /* with -1: errno */
	struct stat st;		    /* of fd */
	unsigned n_owners;	    /* users but root on the way: 0, 1, or 2 for several */
	struct way_owner owners[2]; /* the first one, and the first other one */
	/* A directory of root's on the way in which others can rename or create entries, by
	 * its mode or its group; "": none.  A sticky one counts only at the end. */
	char writable[WAY_TEXT];
};

/* A path that leads nowhere is no error.  Not to be given a path that is not absolute when
 * the working directory may be somebody else's. */
MUST_CHECK int way_walk(const char *path, struct way *ret, struct err *e);
void way_done(struct way *w); /* closes fd */

#endif
