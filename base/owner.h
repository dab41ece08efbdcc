/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include "base/err.h"
#include "base/way.h"

#include <stdbool.h>
#include <sys/types.h>

/* As whom we run what a directory names (build rules, hooks, programs) when we are root: root
 * executes nothing that somebody else wrote, or made a path lead to.  Others run it as
 * themselves. */
struct owner {
	bool other; /* we are root, and it is one other user's: become them */
	bool root;  /* we are root, and nobody else owns anything on the way */
	uid_t uid;
	gid_t gid, group;	 /* of the owner; of the directory, if they are in it */
	char *name, *home;	 /* with other, when they have some; else NULL */
	char writable[WAY_TEXT]; /* with root: as in struct way */
};

enum { OWNER_NOGROUP = 65534 }; /* of whom no account and no directory says one */

/* Opens the directory that a path leads to, and says whose it is, of what was opened:
 * *ret_fd (O_PATH) is where it is to be started, whatever the path has become meanwhile.
 * -EPERM: who owns something on the way from "/" to it (a directory, a link, or what that
 * goes through) is not who owns its end; the message names both.  owner_done() frees; a
 * group that is root's is never the owner's. */
MUST_CHECK int owner_open(const char *path, struct owner *ret, int *ret_fd, struct err *e);
void owner_done(struct owner *o);

/* In a child before exec: async-signal-safe; -1 with errno.  Nothing when not other.  It
 * leaves our terminal and our session keyring, too. */
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
