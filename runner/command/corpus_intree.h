/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CORPUS_INTREE_H
#define RUNNER_COMMAND_CORPUS_INTREE_H

/* Between the files of `corpus update-intree`. */
#include "runner/command/corpus_repos.h"
#include "runner/command/session.h"

struct intree_args {
	struct session session;
	struct repos repos;
	const char *filter;
	bool prune, dry_run, json;
	json_t *targets;
	json_t *merged; /* names of targets whose corpus was minimised; NULL: not read yet */
	size_t with_dirs;
	int worst;
};

struct intree_one {
	struct intree_args *a;
	const struct target *target;
	struct strv dirs; /* its own, then those of the configuration */
	const char *dir;  /* chosen */
	struct repo *repo;
	char why[GIT_WHY]; /* no repository */
	struct intree how;
	struct intree_sum sum;
	json_t *removed, *taken, *notes;
};

/* A line for people, "<target>: <what><name><then>", and a note for programs. */
void intree_remark(const struct intree_one *o, const char *what, const char *name,
		   const char *then);

/* Decides whether o's directory is pruned, and says why not. */
MUST_CHECK int intree_prepare_prune(struct intree_one *o, struct err *e);

#endif
