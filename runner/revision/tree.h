/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_REVISION_TREE_H
#define RUNNER_REVISION_TREE_H

#include "base/git.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A work tree of its own for other commits of a repository (git-worktree(1)), so that the user's
 * work tree stays as it is.
 *
 * It is <git directory>/fuzzcell/<name>: in the repository's file system, where its owner may
 * write, and where no git status and no build looks.  git runs as the owner (base/git.h), without
 * hooks, without the filters of the repository's configuration, and without any network: files that
 * a filter would make (Git LFS) stay as they are in the commit. */
struct revision_tree;

enum {
	REVISION_ROW_MAX = 200000, /* commits; older ones are left out */
	REVISION_TEXT = 200,	   /* bytes of a text of a commit */
};

/* dir: an absolute path in the repository.  name: a plain file name; only one process at a time may
 * use it.  limits: of git's processes (NULL: none); they must live as long as the tree.
 * -EINVAL: the directory is in no work tree, or in one where git may not be run. */
MUST_CHECK int revision_open(const char *dir, const char *name, const struct git_limits *limits,
			     struct revision_tree **ret, struct err *e);
/* Removes the work tree from the disk.  t may be NULL. */
void revision_close(struct revision_tree *t);

const char *revision_top(const struct revision_tree *t);  /* of the user's work tree */
const char *revision_path(const struct revision_tree *t); /* of the other one */

/* The commit that a user names: "HEAD", a branch, a part of its name.  -ENOENT: there is none. */
MUST_CHECK int revision_find(const struct revision_tree *t, const char *text, char ret[COMMIT_MAX],
			     struct err *e);
/* 1: a file of the user's work tree differs from HEAD; new files do not count.  0: none does. */
MUST_CHECK int revision_dirty(const struct revision_tree *t, struct err *e);
/* 1: the history is shallow (git-clone(1), --depth).  0: it is complete. */
MUST_CHECK int revision_shallow(const struct revision_tree *t, struct err *e);

struct revision_row {
	char (*v)[COMMIT_MAX];
	size_t n;
	bool cut; /* older commits were left out: REVISION_ROW_MAX */
};
void revision_row_done(struct revision_row *r);
/* The commits from newest back, along the first parents.  oldest not NULL: up to the first commit
 * that is in the history of oldest, with it. -EINVAL: oldest is not in the history of newest. */
MUST_CHECK int revision_list(const struct revision_tree *t, const char *newest, const char *oldest,
			     struct revision_row *ret, struct err *e);

/* The newest commit that is in both histories (git-merge-base(1)).  -ENOENT: there is none, or the
 * history is shallow. */
MUST_CHECK int revision_fork(const struct revision_tree *t, const char *a, const char *b,
			     char ret[COMMIT_MAX], struct err *e);
/* What changed from one commit to another, for diff_parse() (runner/ci/diff.h). */
enum { REVISION_DIFF_MAX = 256 << 20 };
MUST_CHECK int revision_diff(const struct revision_tree *t, const char *from, const char *to,
			     struct buf *out, struct err *e);

struct revision_info {
	char author[REVISION_TEXT], subject[REVISION_TEXT]; /* printable UTF-8, may be cut */
	uint64_t time;					    /* Unix seconds of the commit */
	unsigned parents;
};
MUST_CHECK int revision_describe(struct revision_tree *t, const char *commit,
				 struct revision_info *ret, struct err *e);

/* Brings the work tree to the commit, without any other file in it, and its submodules.  A
 * submodule that the user has not checked out stays an empty directory.  -EPROTO: the user's copy
 * of a submodule lacks the commit. */
MUST_CHECK int revision_checkout(struct revision_tree *t, const char *commit, struct err *e);

#endif
