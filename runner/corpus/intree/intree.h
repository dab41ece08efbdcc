/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_INTREE_INTREE_H
#define RUNNER_CORPUS_INTREE_INTREE_H

#include "base/git.h"
#include "base/strv.h"
#include "runner/corpus/measure/shard.h"

#include <stdbool.h>
#include <stdint.h>

/* Writes the persistent corpus back into the repository: into files of a work tree (intree_update),
 * or into a commit that leaves the work tree alone (struct intree_branch).
 *
 * Inputs are named by the SHA-1 of their content.  A content that exists already, under any name
 * and up to 8 levels deep, is not added again.  Dot files are ignored.  Existing files are never
 * changed, and are removed only with `prune`.  `prune` removes a file if a merge measured its
 * content and found that it adds nothing (`unneeded`, or spare).  Files that were not measured
 * stay.  If the corpus is empty, all files stay. */

struct intree_sum {
	uint64_t added, bytes;
	uint64_t known;	  /* of the corpus: existed already */
	uint64_t removed; /* by prune */
	uint64_t kept;	  /* by prune: not an input of the corpus, but not known to be unneeded */
	uint64_t spare;	  /* of the corpus: left out, since the others reach the same */
	uint64_t skipped; /* of the corpus: its content does not match its name, or another content
			   * has its name; to be removed: could not be kept */
};

enum intree_what {
	INTREE_REMOVED, /* name: relative to the directory */
	INTREE_TAKEN,	/* name: another content has this name */
	INTREE_KEPT,	/* name: like INTREE_REMOVED */
};
typedef void intree_fn(void *arg, enum intree_what what, const char *name);

struct intree {
	int corpus; /* of the target; open */
	/* The target; its spare inputs are left out (runner/corpus/spare.h).  NULL: nothing is left
	 * out. */
	const char *target;
	int state_dirfd; /* the target's state directory */
	bool prune;
	const struct candidates *unneeded; /* the content that prune may remove; NULL: none */
	bool dry_run;			   /* only count and report */
	/* The directory that keeps content that prune removes from a work tree, <sha1>: there may
	 * be no other copy.  -1: none (dry_run, branches). */
	int pruned;
	intree_fn *report; /* NULL is fine */
	void *arg;
};

/* dir: absolute.  New files belong to the directory's owner, and are on disk when the result is 0.
 * On an error the added files stay.
 *
 * As root, files are opened, made and removed with the rights of the users who can change where dir
 * leads: the tree may change meanwhile. */
MUST_CHECK int intree_update(const struct intree *t, const char *dir, struct intree_sum *ret,
			     struct err *e);

/* Chooses one of a target's directories: the first that is in a git work tree and that git does not
 * ignore.  A directory behind a symlink that leads out of a work tree is passed over.
 *   1: it is dirs->v[*ret_at], in *ret_git.
 *   0: none.  why: the reason for the first that exists, dirs->v[*ret_at]; *ret_at == dirs->n:
 *      no directory exists.
 * link: such a symlink that was passed over, or "".  limits: git's; NULL: none. */
MUST_CHECK int intree_choose(const struct strv *dirs, const struct git_limits *limits,
			     struct git *ret_git, size_t *ret_at, char why[GIT_WHY],
			     char link[GIT_WHY], struct err *e);

/* Makes a commit on a new branch, on top of HEAD, without an index or a work tree.  The user's
 * changes, staged or not, are neither included nor touched. */
struct intree_branch;
enum { INTREE_OID = 65 };

/* -EINVAL, with the reason: git refuses the name, or it is surely a mistake. */
enum { INTREE_NAME_MAX = 200 };
MUST_CHECK int intree_branch_name(const char *name, struct err *e);

/* Refuses an invalid name (-EINVAL), and a name that exists as a branch or as the beginning of a
 * branch's name (-EEXIST).  Also refuses a repository without a commit (-EINVAL), or with SHA-256
 * names (-ENOTSUP).  g: borrowed. */
MUST_CHECK int intree_branch_open(const struct git *g, const char *name, const char *message,
				  struct intree_branch **ret, struct err *e);
/* Adds one target's corpus to the directory `prefix` of the commit. */
MUST_CHECK int intree_branch_update(struct intree_branch *b, const struct intree *t,
				    const char *prefix, struct intree_sum *ret, struct err *e);
/* Makes the branch.  commit: the commit's name; "": nothing changed, and there is no branch. */
MUST_CHECK int intree_branch_commit(struct intree_branch *b, char commit[INTREE_OID],
				    struct err *e);
/* Without intree_branch_commit() before, there is no branch.  NULL is fine. */
void intree_branch_free(struct intree_branch *b);

#endif
