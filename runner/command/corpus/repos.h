/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CORPUS_REPOS_H
#define RUNNER_COMMAND_CORPUS_REPOS_H

#include "base/json.h"
#include "runner/corpus/intree/intree.h"

/* The repositories that `corpus update-intree` writes inputs to, and the commands that a user types
 * for a pull request of each. */

struct repo {
	struct git git;
	struct strv dirs; /* the changed directories, relative to the top */
	bool dirty;	  /* a directory has uncommitted changes */
	bool failed;	  /* no more changes are possible in this repository */
	struct intree_branch *branch;
	char name[256]; /* the branch */
	char commit[INTREE_OID];
};
struct repos {
	struct repo **v;
	size_t n;
	const char *branch; /* --branch, or NULL */
	bool dry_run;
};
void repos_done(struct repos *r);

/* Finds or adds the repository of g, and takes g. The first error says why its branch cannot be
 * made; later calls return -EALREADY. */
MUST_CHECK int repos_get(struct repos *r, struct git *g, struct repo **ret, struct err *e);
/* Checks dir for uncommitted changes, likely of an earlier update. If there are any, the commands
 * are printed, too. Call it before writing to dir. */
MUST_CHECK int repo_check(struct repo *r, const char *dir, struct err *e);
/* Notes that dir changed, or would change in a real run. */
void repo_changed(struct repo *r, const char *dir);
/* Commits to the branch given by --branch, if there is one. */
MUST_CHECK int repo_commit(struct repo *r, struct err *e);

/* Appends the commands for sh(1), with quoted names. Free with strv_done(). */
MUST_CHECK int repo_commands(const struct repo *r, struct strv *out, struct err *e);
/* *ret: the repository of which this one is a submodule, or NULL. */
MUST_CHECK int repo_super(const struct repo *r, char **ret, struct err *e);
MUST_CHECK int repos_json(const struct repos *r, json_t **ret, struct err *e);

#endif
