/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include "base/err.h"
#include "base/way.h"

#include <stdbool.h>
#include <sys/types.h>

/* The user under which root runs the programs that a directory names (build rules, hooks).  Root
 * executes no program that another user wrote.  Root also executes no program at a path that
 * another user can make lead to another file.  When we are not root, programs run as us. */
struct owner {
	/* We are root, and the directory belongs to another user: owner_become() becomes this
	 * user.  Every component of the path belongs to this user or to root. */
	bool other;
	bool root; /* we are root, and every component of the path belongs to root */
	uid_t uid; /* the user to which the directory belongs */
	/* With `other`: the primary group of the user's account.  Without an account: the
	 * directory's group if no group of this machine has the number, else OWNER_NOGROUP. */
	gid_t gid;
	/* With `other`: the only supplementary group of programs.  It is the directory's group if
	 * the user's account is a member of that group, else gid. */
	gid_t group;
	char *name; /* with `other`: the name of the user's account; NULL: there is no account */
	char *home; /* with `other`: the home directory of the account; NULL: no account */
	/* With `root`: a directory of the path that other users can write to, as in struct way;
	 * "": there is none. */
	char writable[WAY_TEXT];
};

/* For a user without an account, in a directory with a group that cannot be used. */
enum { OWNER_NOGROUP = 65534 };

/* Opens the directory at path, and sets *ret to the owner of the open directory.  Start programs in
 * *ret_fd (O_PATH), because the path may lead elsewhere by then.  owner_done() frees *ret.  The
 * owner never gets root's group from the directory.
 *
 * -EPERM: we are root, and a component of the path belongs to a user who is neither root nor the
 * directory's owner.  A component is a directory between "/" and the directory, a link, or a
 * component of the link's path.  The message names both users. */
MUST_CHECK int owner_open(const char *path, struct owner *ret, int *ret_fd, struct err *e);
void owner_done(struct owner *o);

/* Changes the calling process to the owner's user and groups, and leaves our terminal and our
 * session keyring.  Does
 * nothing when o->other is false.  Call it in a child before exec: it is async-signal-safe.
 * Returns 0, or -1 with errno. */
MUST_CHECK int owner_become(const struct owner *o);

enum { RIGHTS_GROUPS = 64 }; /* further groups are dropped, which only reduces the rights */
/* The rights of another user to access files.  When another user chooses the path of a file, root
 * opens the file with that user's rights.  So the user gets no access to files that the user may
 * not read.  Users choose a path in a pushed manifest, for example, or by a link in their tree.
 * The rights apply to the calling thread, and only to file systems (setfsuid(2)). */
struct rights {
	bool other; /* we are root, and the user is not; false: our own rights stay in force */
	/* Several users chose the path: only the rights that every user has ("other" mode bits). */
	bool mixed;
	uid_t uid;
	gid_t gid;
	size_t n_groups;
	gid_t groups[RIGHTS_GROUPS];
	/* The tree: a directory.  Each path that this user names must lead to a file in the tree,
	 * at any depth.  This also applies when we are not root. */
	dev_t tree_dev;
	ino_t tree_ino; /* 0: there is no tree, and a path may lead anywhere */
};

/* Sets *ret to the rights of the user who decides where path leads.  This user owns a component of
 * the path, and is not root.  A component is a directory, a link, a component of the link's path,
 * or the file itself.  Only owners count, not users who may write by mode or group.  A path that
 * leads nowhere is no error: the components that exist count. */
MUST_CHECK int rights_of(const char *path, struct rights *ret, struct err *e);

/* Sets *ret to the rights for a path that another user names.  namer: the rights of that user;
 * NULL: we name the path.  *ret has only the rights that both the namer and the users who decide
 * where the path leads (rights_of()) have.  -EXDEV: the path leads out of the namer's tree. */
MUST_CHECK int rights_of_named(const struct rights *namer, const char *path, struct rights *ret,
			       struct err *e);
/* Sets *ret to the rights for a path in the configuration.
 *
 * If a directory above the path, as the path is written, has ".git", the path is in that work tree.
 * Then the path must lead to a file in the work tree.  The reason: a push can turn any component
 * into a link, and if root runs git, the link belongs to root.  -EXDEV: the path leads out of the
 * work tree. */
MUST_CHECK int rights_of_configured(const char *path, struct rights *ret, struct err *e);
/* Sets the tree of *io to the directory top; "": "/". */
MUST_CHECK int rights_set_tree(struct rights *io, const char *top, struct err *e);

/* Our own rights, for rights_give_back(). */
struct rights_back {
	bool on; /* the rights of another user are in force */
	uid_t uid;
	gid_t gid;
	int n_groups;
	gid_t *groups;
};
/* Gives the calling thread the rights r until rights_give_back().  Two calls must not nest.  When r
 * is NULL or r->other is false, our own rights stay in force. */
MUST_CHECK int rights_take(const struct rights *r, struct rights_back *ret, struct err *e);
void rights_give_back(struct rights_back *b);
#define _autorights_ __attribute__((cleanup(rights_give_back)))

/* openat(2) with the rights r; -1 with errno.  The kernel checks the rights only at the opening,
 * not at later reads. */
MUST_CHECK int rights_open(const struct rights *r, int at, const char *path, int flags);
/* Opens path with the rights of rights_of_named(); -1 with errno.  Between rights_take() and
 * rights_give_back(), opens path with the rights that the thread has taken. */
MUST_CHECK int rights_open_named(const struct rights *namer, const char *path, int flags);

#endif
