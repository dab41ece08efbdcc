/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_GITHUB_GITHUB_H
#define RUNNER_PUBLISH_GITHUB_GITHUB_H

#include "base/err.h"
#include "runner/config/config.h"
#include "runner/publish/delivery.h"
#include "runner/publish/http/http.h"

/* One attempt at telling GitHub about a crash: REST API, version 2022-11-28.  It blocks,
 * for a forked child that called token_protect_process().
 *
 * Never two issues for one signature.  The marker "<!-- fuzzcell-signature: SIG -->" on a
 * line of an issue's body says whose issue it is; it is looked for in the repository's
 * list of issues (the search lags by minutes), of which outbox/index-*.json in the state
 * directory is a cache that may be lost.  A marker counts only in an issue (no pull
 * request) by the account that the token is of, by our App, or by an owner, member or
 * collaborator of the repository: nobody else can keep a crash from being filed by
 * writing its marker first.  When GitHub does not tell whose the token is (a workflow's
 * token), apps that are installed there count too.
 *
 * What was asked for and not answered may have been done: it is looked for, a minute
 * later at the earliest, before it is asked for again.  Comments carry
 * "<!-- fuzzcell-delivery: EVENT ID -->" for the same reason.
 *
 * A person's word wins.  Label "ignore": nothing is told (d->ignored).  Label "wrong":
 * "fixed" is not told.  "again" is told of a closed issue only, once for each time that
 * it was closed; one closed as not planned or as a duplicate is not reopened.  An
 * issue that is known (issue_url, or our own) and was deleted is not filed again
 * (d->deleted).
 *
 * d->progress is ours but for "issue_url", which whoever keeps it may set from
 * an earlier delivery or the ledger to spare the search; so may d->event.  We set
 *	issue		its number, once known
 *	posting		when an issue was asked for and perhaps not answered, Unix seconds
 *	commenting	the same of a comment
 *	commented	the comment is there
 *	acting		when it was to be closed or reopened
 *	reproducer	the text for %REPRODUCER%
 *	uploading	how often that was tried
 *
 * An event without a signature (an alarm) is told as an issue of its own, once,
 * known by "<!-- fuzzcell-event: ID -->". */
struct github;

struct github_options {
	const struct http_limits *limits;     /* NULL: HTTP_LIMITS */
	uint64_t (*now)(void *arg);	      /* Unix seconds; NULL: the clock */
	void (*wait)(void *arg, uint64_t ms); /* NULL: sleeps */
	void *arg;
};

/* c must live as long; o may be NULL.  Reads no token yet. */
MUST_CHECK int github_new(const struct github_config *c, const struct github_options *o,
			  struct github **ret, struct err *e);
void github_free(struct github *g); /* NULL is fine */

/* The number of the token that would be shown (token.h); 0: none is at hand.  Asks nobody. */
uint64_t github_token(struct github *g);

/* Fills d's "out" fields.  After an answer that holds for the whole host, what comes next
 * is put off without a request until its time. */
void github_deliver(struct github *g, struct delivery *d);

#endif
