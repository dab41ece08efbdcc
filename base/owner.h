/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Who owns a directory.  What a work tree names (build rules, hooks, programs) is run as
 * its owner when we are root, so that root executes nothing that somebody else wrote. */
struct owner {
	bool other; /* we are root, and it is somebody else's: become them */
	uid_t uid;
	gid_t gid, group;  /* of the owner; of the directory */
	char *name, *home; /* with other, when they have some; else NULL */
};

enum { OWNER_NOGROUP = 65534 }; /* of whom no account and no directory says one */

/* owner_done() frees.  A group that is root's is never the owner's. */
MUST_CHECK int owner_of(const char *dir, struct owner *ret, struct err *e);
void owner_done(struct owner *o);

/* In a child before exec: async-signal-safe; -1 with errno.  Nothing when not other. */
MUST_CHECK int owner_become(const struct owner *o);

/* What root opens on somebody's word (a manifest that was pushed, a link in a tree of
 * theirs) it opens with their rights: what they could not read themselves stays closed.
 * Of this thread only, and only for file systems (setfsuid(2)): all else stays root's. */
enum { RIGHTS_GROUPS = 64 }; /* of more, the rest is left out: that is less, not more */
struct rights {
	bool other; /* we are root, and they are not; else there is nothing to be done */
	bool mixed; /* several have a say: the rights that everybody has */
	uid_t uid;
	gid_t gid;
	size_t n_groups;
	gid_t groups[RIGHTS_GROUPS];
};

/* Of who decides what path leads to: the owner of anything on the way from "/" to it (a
 * directory, a link and what that goes through, the file itself) that is not root's.  What
 * only a mode or a group lets others write counts as its owner's.  A path that leads
 * nowhere is no error: it is judged as far as it goes. */
MUST_CHECK int rights_of(const char *path, struct rights *ret, struct err *e);

/* Of what somebody names by a path: what both the namer (NULL: we) and who decides what it
 * leads to may do. */
MUST_CHECK int rights_of_named(const struct rights *namer, const char *path, struct rights *ret,
			       struct err *e);

/* Not one within the other.  NULL is our own, as is all that is not "other". */
struct rights_back {
	bool on;
	uid_t uid;
	gid_t gid;
	int n_groups;
	gid_t *groups;
};
MUST_CHECK int rights_take(const struct rights *r, struct rights_back *ret, struct err *e);
void rights_give_back(struct rights_back *b);
#define _autorights_ __attribute__((cleanup(rights_give_back)))

/* openat(2) with these rights: -1 with errno.  Reading needs no rights any more. */
MUST_CHECK int rights_open(const struct rights *r, int at, const char *path, int flags);
/* Within rights_take() with those that were taken. */
MUST_CHECK int rights_open_named(const struct rights *namer, const char *path, int flags);

#endif
