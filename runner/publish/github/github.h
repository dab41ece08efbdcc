/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_GITHUB_GITHUB_H
#define RUNNER_PUBLISH_GITHUB_GITHUB_H

#include "base/err.h"
#include "runner/config/config.h"
#include "runner/publish/delivery.h"
#include "runner/publish/http/http.h"

/* One attempt to notify GitHub about a crash, with the REST API, version 2022-11-28.  It blocks:
 * call it in a forked child that called token_protect_process().
 *
 * A signature never gets two issues.  An issue belongs to the signature in the marker
 * "<!-- fuzzcell-signature: SIG -->", which has a line of its own in the body.  The
 * marker is looked up in the repository's list of issues, because GitHub's search lags by
 * minutes.  outbox/index-*.json in the state directory caches that list and may be lost.
 *
 * A marker counts only in an issue, not in a pull request.  The author must be the
 * token's account, our App, or an owner, member or collaborator of the repository.  So a
 * stranger cannot keep a crash from being filed by writing its marker first.  For a workflow's
 * token GitHub does not name the account.  Then markers of the installed apps count too.
 *
 * A request without an answer may have been carried out.  It is sent again only after a check
 * whether it was, at least a minute later.  Comments carry
 * "<!-- fuzzcell-delivery: EVENT ID -->" for the same reason.
 *
 * The user's decisions have priority:
 * - With the label "ignore" no notification is sent (d->ignored).
 * - With the label "wrong" no "fixed" is sent.
 * - "again" is sent only to a closed issue, once each time that the issue is closed.  An issue
 *   closed as not planned or as a duplicate is not reopened.
 * - A known issue (issue_url, or our own) that was deleted is not filed again (d->deleted).
 *
 * d->progress belongs to this file, except "issue_url".  The caller may set it from an earlier
 * delivery or from the ledger, in d->progress or in d->event; it saves the search.  This file
 * sets
 *	issue		the number, once known
 *	posting		when an issue was requested that may lack an answer, Unix seconds
 *	commenting	the same for a comment
 *	commented	the comment exists
 *	acting		when closing or reopening was requested
 *	reproducer	the text for %REPRODUCER%
 *	uploading	the number of upload attempts
 *
 * An event without a signature (an alarm) gets an issue of its own, once.  The marker
 * "<!-- fuzzcell-event: ID -->" identifies it. */
struct github;

struct github_options {
	const struct http_limits *limits;     /* NULL: HTTP_LIMITS */
	uint64_t (*now)(void *arg);	      /* Unix seconds; NULL: uses the clock */
	void (*wait)(void *arg, uint64_t ms); /* NULL: sleeps */
	void *arg;
};

/* c must outlive the object; o may be NULL.  The token is read later. */
MUST_CHECK int github_new(const struct github_config *c, const struct github_options *o,
			  struct github **ret, struct err *e);
void github_free(struct github *g); /* NULL is fine */

/* The number of the token that would be sent (token.h); 0: no token is available.  Sends no
 * request. */
uint64_t github_token(struct github *g);

/* Fills d's "out" fields.  If an answer applies to the whole host, later deliveries are
 * postponed without a request until the time that the answer named. */
void github_deliver(struct github *g, struct delivery *d);

#endif
