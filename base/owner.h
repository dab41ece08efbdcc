/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include "base/err.h"
#include "base/way.h"

#include <stdbool.h>
#include <sys/types.h>

/* The user under which root runs the programs that a directory names (build rules, hooks).  Root
 * executes nothing that another user wrote or made a path lead to.  When we are not root, programs
 * run as us. */
struct owner {
	bool other; /* we are root, and one other user owns the path: become that user */
	bool root;  /* we are root, and root alone owns all of the path */
	uid_t uid;
	gid_t gid, group;	 /* of the owner; the directory's group if the owner is in it */
	char *name, *home;	 /* with other, when the user has an account; else NULL */
	char writable[WAY_TEXT]; /* with root: as in struct way */
};

enum { OWNER_NOGROUP = 65534 }; /* used when neither an account nor the directory has a group */

/* Opens the directory that a path leads to, and takes the owner from the open directory.  Start
 * programs in *ret_fd (O_PATH): the path may lead elsewhere by then.  -EPERM: another user owns a
 * component between "/" and the directory (a directory, a link, or a part of the link's path).  The
 * message names both users.  owner_done() frees.  Root's group is never taken from the directory.
 */
MUST_CHECK int owner_open(const char *path, struct owner *ret, int *ret_fd, struct err *e);
void owner_done(struct owner *o);

/* For a child before exec: async-signal-safe; -1 with errno.  It changes nothing when `other` is
 * false.  It also leaves our terminal and our session keyring. */
MUST_CHECK int owner_become(const struct owner *o);

/* Access rights of another user, for files that root opens at that user's request.  Such a path
 * comes from a pushed manifest, or through a link in the user's tree.  Root opens it with the
 * user's rights, so that the user gets no access to other files.  The rights apply to the calling
 * thread and to file systems only (setfsuid(2)). */
enum { RIGHTS_GROUPS = 64 }; /* further groups are dropped, which only reduces the rights */
struct rights {
	bool other; /* we are root, and the user is not; else there is nothing to do */
	bool mixed; /* several users decide: only the rights of all users ("other" bits) */
	uid_t uid;
	gid_t gid;
	size_t n_groups;
	gid_t groups[RIGHTS_GROUPS];
	/* Named paths must be in this directory, at any depth; tree_ino 0: anywhere.  This also
	 * applies when we are not root. */
	dev_t tree_dev;
	ino_t tree_ino;
};

/* Returns the rights of the user who decides where path leads.  This is the owner of any component
 * on the way from "/" that is not root's: a directory, a link and its path, or the file itself.
 * Only owners count, not users who may write by mode or group.  A path that leads nowhere is no
 * error: the components that exist count. */
MUST_CHECK int rights_of(const char *path, struct rights *ret, struct err *e);

/* Returns the common rights of the namer of a path (NULL: ourselves) and of the users who decide
 * where the path leads.  -EXDEV: the path leads out of the namer's tree. */
MUST_CHECK int rights_of_named(const struct rights *namer, const char *path, struct rights *ret,
			       struct err *e);
/* Returns the rights for a path in the configuration.  A path is in a work tree when a directory
 * above it, as written, has ".git".  Such a path must stay in that tree: a push can turn any
 * component into a link, and the link is root's when root runs git.  -EXDEV: it leads out. */
MUST_CHECK int rights_of_configured(const char *path, struct rights *ret, struct err *e);
/* From now on, named paths must be in the directory top. */
MUST_CHECK int rights_set_tree(struct rights *io, const char *top, struct err *e);

/* rights_take() calls must not nest.  With NULL, or without `other`, our own rights stay. */
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

/* openat(2) with these rights; -1 with errno.  Only the opening is checked, not later reads. */
MUST_CHECK int rights_open(const struct rights *r, int at, const char *path, int flags);
/* rights_open() with the namer's rights, between rights_take() and rights_give_back(). */
MUST_CHECK int rights_open_named(const struct rights *namer, const char *path, int flags);

#endif
