/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_REVISION_SHELF_H
#define RUNNER_REVISION_SHELF_H

#include "base/git.h"
#include "runner/targets/discover.h"

#include <stdbool.h>
#include <stdint.h>

/* Built targets of other commits, kept so that a commit is built once:
 *
 *	revisions/<commit>-<how>/		a build that failed, for all of its targets
 *	revisions/<commit>-<how>-<target>/	a target, or that the build has no such target
 *		built.json	what it is, or why it is not there
 *		files/		the program, and what a cell shows beside it
 *
 * <how> stands for the way in which the source is built: another configuration has other builds. An
 * item appears whole, by a rename.  The item that was not used for the longest time goes first.
 * The caller holds the state directory's lock. */

enum { SHELF_HOW = 17, SHELF_WHY = 600 };

struct shelf_key {
	const char *commit, *how, *target;
};

enum shelf_kind {
	SHELF_TARGET,
	SHELF_ABSENT,  /* the build has no such target */
	SHELF_UNBUILT, /* the build failed, or did not make the target */
	SHELF_KIND_COUNT
};

struct shelf_item {
	enum shelf_kind kind;
	char why[SHELF_WHY]; /* SHELF_UNBUILT: printable */
	/* SHELF_TARGET: its paths lead to the item.  Seeds and dictionaries are not there. */
	struct target target;
};
void shelf_item_done(struct shelf_item *i);

/* path: of the state directory, absolute.  -ENOENT: the commit is not built, or not this target. */
MUST_CHECK int shelf_load(int state_dirfd, const char *path, const struct shelf_key *k,
			  struct shelf_item *ret, struct err *e);
/* Keeps a target.  all: the list of discovery, with t in it. */
MUST_CHECK int shelf_keep(int state_dirfd, const struct shelf_key *k, const struct target_list *all,
			  const struct target *t, struct err *e);
/* Notes why a target is not there; SHELF_UNBUILT with k->target NULL: no target is. */
MUST_CHECK int shelf_note(int state_dirfd, const struct shelf_key *k, enum shelf_kind kind,
			  const char *why, struct err *e);
/* Removes the item of the target, and that of the whole build. */
MUST_CHECK int shelf_forget(int state_dirfd, const struct shelf_key *k, struct err *e);
/* Removes items until all of them take at most max_bytes, but not the one used last. */
MUST_CHECK int shelf_trim(int state_dirfd, uint64_t max_bytes, struct err *e);

#endif
