/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include "base/err.h"
#include "base/way.h"

#include <stdbool.h>
#include <sys/types.h>

/* The user as which root runs the programs that a directory names (build rules, hooks).  Root
 * executes nothing that another user wrote, or made a path lead to.  Other users run it as
 * themselves. */
struct owner {
	bool other; /* we are root, and one other user owns the path: become that user */
	bool root;  /* we are root, and root alone owns all of the path */
	uid_t uid;
	gid_t gid, group;	 /* of the owner; the directory's group if the owner is in it */
	char *name, *home;	 /* with other, when the user has an account; else NULL */
	char writable[WAY_TEXT]; /* with root: as in struct way */
};

enum { OWNER_NOGROUP = 65534 }; /* of whom no account and no directory says one */

/* Opens the directory that a path leads to, and finds its owner from what was opened.  Programs are
 * started in *ret_fd (O_PATH), whatever the path leads to meanwhile.  -EPERM: a user who does not
 * own the directory owns something on the way from "/" to it (a directory, a link, or what the link
 * goes through).  The message names both. owner_done() frees.  A group that is root's is never the
 * owner's. */
MUST_CHECK int owner_open(const char *path, struct owner *ret, int *ret_fd, struct err *e);
void owner_done(struct owner *o);

/* For a child before exec: async-signal-safe; -1 with errno.  It changes nothing when `other` is
 * false.  It also leaves our terminal and our session keyring. */
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
	/* What they name has to be in this directory, at any depth; tree_ino 0: anywhere.  Also
	 * when we are not root. */
	dev_t tree_dev;
	ino_t tree_ino;
};

/* Of who decides what path leads to: the owner of anything on the way from "/" to it (a
 * directory, a link and what that goes through, the file itself) that is not root's.  What
 * only a mode or a group lets others write counts as its owner's.  A path that leads
 * nowhere is no error: it is judged as far as it goes. */
MUST_CHECK int rights_of(const char *path, struct rights *ret, struct err *e);

/* The rights that two parties share: the namer of a path (NULL: we), and the users who decide where
 * the path leads.  -EXDEV: it leads out of the namer's tree. */
MUST_CHECK int rights_of_named(const struct rights *namer, const char *path, struct rights *ret,
			       struct err *e);
/* The rights for a path in the configuration.  A path in a work tree (a directory above it, as it
 * is written, has ".git") has to stay in that tree: a push can turn any part of it into a link,
 * which is root's when root's git makes it.  -EXDEV: it leads out. */
MUST_CHECK int rights_of_configured(const char *path, struct rights *ret, struct err *e);
/* What they name has to be in the directory top from now on. */
MUST_CHECK int rights_set_tree(struct rights *io, const char *top, struct err *e);

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
/* rights_open() with the namer's rights, between rights_take() and rights_give_back(). */
MUST_CHECK int rights_open_named(const struct rights *namer, const char *path, int flags);

#endif
