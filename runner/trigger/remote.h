/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_REMOTE_H
#define RUNNER_TRIGGER_REMOTE_H

#include "base/git.h"
#include "runner/trigger/checkout.h"

/* What a remote has: checkout.c's half that leaves the machine.  Whoever is at the other
 * end may say what he likes: it is cut, and printable. */
struct remote_answer {
	enum checkout_kind kind;
	char why[CHECKOUT_WHY];
	char head[COMMIT_MAX]; /* peek's */
};

/* Fetches the branch into refs/remotes/; peek: only asks for its head.  Names were
 * checked.  A fetch that passes a limit of g is CHECKOUT_BROKEN.  Negative: git could not be
 * started. */
MUST_CHECK int remote_ask(const struct git *g, const struct checkout_opts *o, bool peek,
			  struct remote_answer *ret, struct err *e);

/* The lines of git's words that say why, as one printable line. */
void remote_words(struct slice said, char ret[CHECKOUT_WHY]);

#endif
