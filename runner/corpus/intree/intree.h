/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_INTREE_INTREE_H
#define RUNNER_CORPUS_INTREE_INTREE_H

#include "base/git.h"
#include "base/strv.h"
#include "runner/corpus/measure/shard.h"

#include <stdbool.h>
#include <stdint.h>

/* The persistent corpus goes back into the repository: into files of a work tree
 * (intree_update), or into a commit that leaves the work tree alone (struct intree_branch).
 *
 * Inputs are named by the SHA-1 of their content.  What is there already, under any
 * name and up to 8 levels deep, is not added again; dot files are not looked at.
 * Nothing that is there is ever changed, and nothing removed without `prune`.  That
 * removes a file when a merge measured its content and found that it adds nothing
 * (`unneeded`, or spare).  What was not measured stays, and so does everything when the
 * corpus is empty. */

struct intree_sum {
	uint64_t added, bytes;
	uint64_t known;	  /* of the corpus: there already */
	uint64_t removed; /* by prune */
	uint64_t kept;	  /* by prune: no input of the corpus, but not found unneeded either */
	uint64_t spare;	  /* of the corpus: left out, as the others reach the same */
	uint64_t skipped; /* of the corpus: not what its name says, or its name is taken by
			     another content; to be removed: could not be kept */
};

enum intree_what {
	INTREE_REMOVED, /* name: from the directory */
	INTREE_TAKEN,	/* name: has another content */
	INTREE_KEPT,	/* name: as removed */
};
typedef void intree_fn(void *arg, enum intree_what what, const char *name);

struct intree {
	int corpus; /* of the target */
	/* The target; its spare inputs are left out (runner/corpus/spare.h).  NULL: none is. */
	const char *target;
	int state_dirfd; /* of it */
	bool prune;
	const struct candidates *unneeded; /* what prune may remove; NULL: nothing */
	bool dry_run;			   /* only count and tell */
	/* Where content that prune removes from a work tree is kept, <sha1>: there may be
	 * no other copy.  -1: nowhere (dry_run, branches). */
	int pruned;
	intree_fn *told; /* NULL is fine */
	void *arg;
};

/* dir: absolute.  New files belong to the directory's owner, and are on disk when it returns 0.
 * On an error the added files stay.
 *
 * As root, files are opened, made and removed with the rights of the users who decide where dir
 * leads: the tree may change meanwhile. */
MUST_CHECK int intree_update(const struct intree *t, const char *dir, struct intree_sum *ret,
			     struct err *e);

/* Which of a target's directories: the first in a git work tree that git does not
 * ignore, not reached through a symlink that leads out of a work tree.  1: dirs->v[*ret_at],
 * in *ret_git.  0: there is none; why: what is wrong with the first that exists,
 * dirs->v[*ret_at]; *ret_at == dirs->n: there is no directory at all.  link: such a symlink
 * that was passed over, or "".  limits: git's; NULL: none. */
MUST_CHECK int intree_choose(const struct strv *dirs, const struct git_limits *limits,
			     struct git *ret_git, size_t *ret_at, char why[GIT_WHY],
			     char link[GIT_WHY], struct err *e);

/* A commit on a new branch, on top of HEAD, made without an index or a work tree: what a
 * person has changed, staged or not, is neither in it nor touched. */
struct intree_branch;
enum { INTREE_OID = 65 };

/* -EINVAL, with the reason: git would take no branch of this name, or one that nobody
 * means. */
enum { INTREE_NAME_MAX = 200 };
MUST_CHECK int intree_branch_name(const char *name, struct err *e);

/* Refuses: a name that is none (-EINVAL), or that is there already, as a branch or as the
 * beginning of one's name (-EEXIST); a repository without a commit (-EINVAL), or with
 * SHA-256 names (-ENOTSUP).  g: borrowed. */
MUST_CHECK int intree_branch_open(const struct git *g, const char *name, const char *message,
				  struct intree_branch **ret, struct err *e);
/* One target's corpus into the directory `prefix` of the commit. */
MUST_CHECK int intree_branch_update(struct intree_branch *b, const struct intree *t,
				    const char *prefix, struct intree_sum *ret, struct err *e);
/* The branch appears.  commit: its name, "" when nothing changed (then there is no
 * branch). */
MUST_CHECK int intree_branch_commit(struct intree_branch *b, char commit[INTREE_OID],
				    struct err *e);
/* Without a commit before: no branch.  NULL is fine. */
void intree_branch_free(struct intree_branch *b);

#endif
