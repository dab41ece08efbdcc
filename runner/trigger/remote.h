/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_REMOTE_H
#define RUNNER_TRIGGER_REMOTE_H

#include "base/git.h"
#include "runner/trigger/checkout.h"

/* Queries a remote: the part of checkout.c that uses the network.  The remote is untrusted: its
 * text is cut and made printable. */
struct remote_answer {
	enum checkout_kind kind;
	char why[CHECKOUT_WHY];
	char head[COMMIT_MAX]; /* set by peek */
};

/* Fetches the branch into refs/remotes/; peek: only asks for its head.  The caller must have
 * checked the names.  A fetch that exceeds a limit of g is CHECKOUT_BROKEN.  Negative: git could
 * not be started. */
MUST_CHECK int remote_ask(const struct git *g, const struct checkout_opts *o, bool peek,
			  struct remote_answer *ret, struct err *e);

/* Extracts the reason from git's error output, as one printable line. */
void remote_words(struct slice said, char ret[CHECKOUT_WHY]);

#endif
