/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_WAY_H
#define BASE_WAY_H

#include "base/err.h"

#include <sys/stat.h>
#include <sys/types.h>

/* Where a path leads, and which users can make it lead to another place.  The path is walked from
 * "/" by descriptors.  Each component is opened without following it, and its owner is that of the
 * open file.  A symbolic link counts, and so do all components of its path.  "/" itself does not
 * count: in a user namespace it has no owner. */
enum { WAY_TEXT = 160 };

struct way_owner {
	uid_t uid;
	char path[WAY_TEXT]; /* this owner's first component; of a long path, only the end */
};

struct way {
	int fd;			    /* O_PATH: the file at the end of the path; -1: none */
	int code;		    /* errno when fd is -1 */
	struct stat st;		    /* of fd */
	unsigned n_owners;	    /* number of owners other than root: 0, 1, or 2 for several */
	struct way_owner owners[2]; /* the first owner, and the first other owner */
	/* A directory of root's on the way that other users can write to, by its mode, its group or
	 * its access control list; "": none.  A sticky directory counts only at the end. */
	char writable[WAY_TEXT];
};

/* A path that leads nowhere is no error.  -EPERM: the path goes through an open file of a process
 * ("/proc/self/cwd"), which bypasses the permissions of directories.  The path must be absolute
 * when another user may own the working directory. */
MUST_CHECK int way_walk(const char *path, struct way *ret, struct err *e);
void way_done(struct way *w); /* closes fd */

#endif
