/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_WEBHOOK_WEBHOOK_H
#define RUNNER_PUBLISH_WEBHOOK_WEBHOOK_H

#include "base/json.h"
#include "runner/config/config.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/publish/delivery.h"

/* What a webhook gets.  It is built once, when something happens, and sent as it is,
 * each time.  docs/publishing.md has both forms.
 *
 *	Content-Type: application/json
 *	X-Fuzzcell-Event: new
 *	X-Fuzzcell-Delivery: hook-team-new-0123456789abcdef	the same in each try
 *	X-Fuzzcell-Signature-256: sha256=<hex>			HMAC-SHA256 of the body; with a
 *								secret_file only
 *
 * Neither form has a stack, a report or an input: a webhook's readers look those up. */

struct webhook_message {
	const char *event; /* "new", "fixed", "regressed", "run-failed", "silent", "alarm" */
	const char *id;	   /* the delivery's */
	uint64_t time;	   /* when it was found, Unix seconds */
	const struct known_crash *crash;   /* or an entry; NULL: it is about no crash */
	const char *issue_url;		   /* the crash's issue; NULL: none */
	const char *target, *run, *commit; /* NULL or "": unknown */
	const char *text; /* without a crash: what happened, one sentence; any bytes */
};
/* A new object. */
MUST_CHECK int webhook_payload(enum webhook_format format, const struct webhook_message *m,
			       json_t **ret, struct err *e);
/* Does its configuration ask for this event?  Alarms are for all. */
bool webhook_wants(const struct webhook_config *c, const char *event);

struct http_limits;
struct webhook;
/* Blocks when it sends: for the process that delivers.  c must live as long; limits NULL:
 * the usual ones.  Its URL and its key are read at the first delivery, and are in no error. */
MUST_CHECK int webhook_new(const struct webhook_config *c, const struct http_limits *limits,
			   struct webhook **ret, struct err *e);
void webhook_free(struct webhook *w); /* NULL is fine */
/* One POST.  2xx: done; 408, 425, 429, 5xx and no answer: later, and whatever comes
 * next to this place as well; other answers: refused.  Without its URL and key nobody is asked. */
void webhook_deliver(struct webhook *w, struct delivery *d);

enum { WEBHOOK_SIGNATURE = 7 + 64 + 1 }; /* "sha256=", 64 digits and a NUL */
/* HMAC-SHA256 (RFC 2104, FIPS 180-4). */
MUST_CHECK int webhook_sign(struct slice key, struct slice body, char out[WEBHOOK_SIGNATURE],
			    struct err *e);

#endif
