/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_CHECKOUT_H
#define RUNNER_TRIGGER_CHECKOUT_H

#include "base/err.h"
#include "base/git.h"
#include "base/loop.h"
#include "runner/trigger/record.h"

#include <stdbool.h>
#include <stdint.h>

/* The watched work tree: checks its remote for a new head, and updates the work tree to it.
 * git(1) runs as the work tree's owner, in a child of the loop, without hooks and password
 * prompts (base/git.h).
 *
 * The work tree only ever moves forward along its branch.  If a user has to decide (a rewritten
 * branch, changed files), nothing changes, and the message has the remedy.  Untracked files are
 * no change: in-tree corpora may receive new files.  Submodules stay as they are; the build
 * must update them. */
struct checkout_opts {
	const char *dir; /* absolute */
	const char *remote, *branch;
	uint64_t fetch_us; /* limit for each: a fetch, a checkout, packing of fetched objects */
	const struct git_limits *limits; /* applied in the process that waits for git; NULL: none */
};

enum checkout_what {
	CHECKOUT_POLL,	 /* fetch, compare */
	CHECKOUT_ASK,	 /* ask the remote for its head, write nothing */
	CHECKOUT_UPDATE, /* update the work tree to head, which is already fetched */
};

enum checkout_kind {
	CHECKOUT_OK,
	CHECKOUT_NETWORK, /* no answer from the remote, or an error: a retry may help */
	CHECKOUT_BROKEN,  /* a user must act: no repository, a shallow clone, ... */
};

enum { CHECKOUT_WHY = RECORD_WHY };
struct checkout {
	enum checkout_kind kind;
	char why[CHECKOUT_WHY]; /* printable; CHECKOUT_OK: a warning or "" */
	char head[COMMIT_MAX];	/* of the branch at the remote; "" if unknown */
	char tree[COMMIT_MAX];	/* the checked out commit; or "" */
	/* Why the work tree cannot be updated to head, or is at head with changed files.  "": an
	 * update is possible. */
	char blocked[CHECKOUT_WHY];
};

/* Blocks while git runs.  head: for CHECKOUT_UPDATE.  Negative: no answer at all. */
MUST_CHECK int checkout_do(const struct checkout_opts *o, enum checkout_what what, const char *head,
			   struct checkout *ret, struct err *e);

/* The same in a child, with a deadline.  Later calls done exactly once. */
typedef void checkout_done_fn(void *arg, const struct checkout *c);
MUST_CHECK int checkout_start(struct loop *l, const struct checkout_opts *o,
			      enum checkout_what what, const char *head, checkout_done_fn *done,
			      void *arg, struct err *e);

#endif
