/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_CHECKOUT_H
#define RUNNER_TRIGGER_CHECKOUT_H

#include "base/err.h"
#include "base/git.h"
#include "base/loop.h"
#include "runner/trigger/record.h"

#include <stdbool.h>
#include <stdint.h>

/* The work tree whose branch is watched: asking its remote what is new, and bringing it
 * there.  git(1) does it, as the work tree's owner, without hooks, never asking anybody
 * for a password (base/git.h), in a child of the loop.
 *
 * The work tree only ever goes forward along its branch.  Whatever a person would have
 * to decide (a rewritten branch, changed files) is said with what to do about it, and
 * nothing is touched.  Untracked files are no change: a fuzzer may leave some in the
 * in-tree corpora.  Submodules stay as they are: updating them is the build's business. */
struct checkout_opts {
	const char *dir; /* absolute */
	const char *remote, *branch;
	uint64_t fetch_us; /* a fetch, a checkout, or packing what was fetched may take so long */
	const struct git_limits *limits; /* opened where git is waited for; NULL: none */
};

enum checkout_what {
	CHECKOUT_LOOK,	 /* fetch, compare */
	CHECKOUT_PEEK,	 /* ask the remote, write nothing */
	CHECKOUT_UPDATE, /* bring the work tree to head, which was fetched */
};

enum checkout_kind {
	CHECKOUT_OK,
	CHECKOUT_NETWORK, /* the remote did not answer, or not well: another try may help */
	CHECKOUT_BROKEN,  /* a person has to do something: no repository, a shallow clone, ... */
};

enum { CHECKOUT_WHY = RECORD_WHY };
struct checkout {
	enum checkout_kind kind;
	char why[CHECKOUT_WHY]; /* printable; "" when all is well; CHECKOUT_OK: a warning */
	char head[COMMIT_MAX];	/* of the branch at the remote, as far as is known; or "" */
	char tree[COMMIT_MAX];	/* what is checked out; or "" */
	/* Why the work tree cannot be brought to head, or is there but changed; "": it can. */
	char blocked[CHECKOUT_WHY];
};

/* Waits for git.  head: CHECKOUT_UPDATE's.  Negative: nothing could be asked at all. */
MUST_CHECK int checkout_do(const struct checkout_opts *o, enum checkout_what what, const char *head,
			   struct checkout *ret, struct err *e);

/* The same in a child, with a limit on time; done is called once, later. */
typedef void checkout_done_fn(void *arg, const struct checkout *c);
MUST_CHECK int checkout_start(struct loop *l, const struct checkout_opts *o,
			      enum checkout_what what, const char *head, checkout_done_fn *done,
			      void *arg, struct err *e);

#endif
