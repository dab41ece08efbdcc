/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CORPUS_REPOS_H
#define RUNNER_COMMAND_CORPUS_REPOS_H

#include "base/json.h"
#include "runner/corpus/intree/intree.h"

/* The repositories that `corpus update-intree` puts inputs into, and what a person
 * types to make a pull request of each. */

struct repo {
	struct git git;
	struct strv dirs; /* that changed, from its top */
	bool dirty;	  /* a person has changed something in one of them */
	bool failed;	  /* nothing more can be done here */
	struct intree_branch *branch;
	char name[256]; /* of the branch */
	char commit[INTREE_OID];
};
struct repos {
	struct repo **v;
	size_t n;
	const char *branch; /* --branch, or NULL */
	bool dry_run;
};
void repos_done(struct repos *r);

/* The repository of g, which is taken.  An error: its branch cannot be made; said once,
 * after that it is -EALREADY. */
MUST_CHECK int repos_get(struct repos *r, struct git *g, struct repo **ret, struct err *e);
/* Before something is put into dir.  What is there and not committed, likely from an
 * update before, is a reason to print commands, too. */
MUST_CHECK int repo_look(struct repo *r, const char *dir, struct err *e);
/* Something was, or would be, put into dir. */
MUST_CHECK int repo_changed(struct repo *r, const char *dir, struct err *e);
/* Makes the branch, if there is one to make. */
MUST_CHECK int repo_commit(struct repo *r, struct err *e);

/* Commands for sh(1); the names in them are quoted.  Free with strv_done(). */
MUST_CHECK int repo_commands(const struct repo *r, struct strv *out, struct err *e);
/* The repository that this one is a submodule of, or NULL. */
MUST_CHECK int repo_super(const struct repo *r, char **ret, struct err *e);
/* A string of any bytes: what is no UTF-8 becomes \\xNN. */
json_t *repos_text(const char *s);
MUST_CHECK int repos_json(const struct repos *r, json_t **ret, struct err *e);

#endif
