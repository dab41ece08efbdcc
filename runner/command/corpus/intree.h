/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CORPUS_INTREE_H
#define RUNNER_COMMAND_CORPUS_INTREE_H

/* Shared by the files of `corpus update-intree`. */
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
	struct strv dirs; /* the target's own, then those of the configuration */
	const char *dir;  /* the chosen one */
	struct repo *repo;
	struct intree how;
	struct candidates unneeded; /* the inputs that --prune may remove */
	char unlisted[300];	    /* why `unneeded` is unknown; "": it is known */
	struct intree_sum sum;
	json_t *removed, *taken, *kept, *notes;
};

/* Prints the line "<target>: <what><name><then>", and adds the text to the notes of the JSON
 * answer. */
void intree_remark(const struct intree_one *o, const char *what, const char *name,
		   const char *then);

/* Loads the inputs that the target's last successful merge measured and did not need. Call it
 * before opening the corpus: a corpus that replaces it meanwhile has at least the same coverage. */
MUST_CHECK int intree_read_unneeded(struct intree_one *o, struct err *e);
/* Decides whether to prune o's directory. If not, prints the reason. */
MUST_CHECK int intree_prepare_prune(struct intree_one *o, struct err *e);

#endif
