/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_WAY_H
#define BASE_WAY_H

#include "base/err.h"

#include <sys/stat.h>
#include <sys/types.h>

/* Where a path leads, and which users can make it lead to another place.  The path is walked from
 * "/" by descriptors.  Each component is opened without following it, and its owner is taken from
 * what was opened.  A symbolic link counts, and so does all that it goes through.  "/" itself does
 * not count: in a user namespace it has no owner. */
enum { WAY_TEXT = 160 };

struct way_owner {
	uid_t uid;
	char path[WAY_TEXT]; /* this owner's first component; the end of a long path */
};

struct way {
	int fd;			    /* O_PATH: what the path leads to; -1: nothing is there */
	int code;		    /* with -1: errno */
	struct stat st;		    /* of fd */
	unsigned n_owners;	    /* number of owners other than root: 0, 1, or 2 for several */
	struct way_owner owners[2]; /* the first owner, and the first other owner */
	/* A directory of root's on the way in which other users can rename or create entries, by
	 * its mode, its group or its access control list; "": none.  A sticky directory counts
	 * only at the end. */
	char writable[WAY_TEXT];
};

/* A path that leads nowhere is no error.  -EPERM: the path goes through what a process has open
 * ("/proc/self/cwd"), past directories that others may not pass.  The path must be absolute when
 * another user may own the working directory. */
MUST_CHECK int way_walk(const char *path, struct way *ret, struct err *e);
void way_done(struct way *w); /* closes fd */

#endif
