/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CORPUS_INTREE_H
#define RUNNER_COMMAND_CORPUS_INTREE_H

/* Between the files of `corpus update-intree`. */
#include "runner/command/common/session.h"
#include "runner/command/corpus/repos.h"

struct intree_args {
	struct session session;
	struct repos repos;
	const char *filter;
	bool all, prune, dry_run, json;
	json_t *targets;
	size_t with_dirs;
	int worst;
};

struct intree_one {
	struct intree_args *a;
	const struct target *target;
	struct strv dirs; /* its own, then those of the configuration */
	const char *dir;  /* chosen */
	struct repo *repo;
	struct intree how;
	struct candidates unneeded; /* what prune may remove */
	char unlisted[300];	    /* why that is not known; "": it is */
	struct intree_sum sum;
	json_t *removed, *taken, *kept, *notes;
};

/* A line for people, "<target>: <what><name><then>", and a note for programs. */
void intree_remark(const struct intree_one *o, const char *what, const char *name,
		   const char *then);

/* What the target's last good merge measured and did not need.  Before its corpus is opened:
 * what replaces that meanwhile reaches what the older one did. */
MUST_CHECK int intree_read_unneeded(struct intree_one *o, struct err *e);
/* Decides whether o's directory is pruned, and says why not. */
MUST_CHECK int intree_prepare_prune(struct intree_one *o, struct err *e);

#endif
