/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_WEBHOOK_H
#define RUNNER_PUBLISH_WEBHOOK_H

#include "base/json.h"
#include "runner/config/config.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/publish/delivery.h"

/* The request that a webhook gets.  The body is built once, when something happens, and each
 * attempt sends the same bytes.  docs/publishing.md describes both formats.
 *
 *	Content-Type: application/json
 *	X-Fuzzcell-Event: new
 *	X-Fuzzcell-Delivery: hook-team-new-0123456789abcdef	the same in each attempt
 *	X-Fuzzcell-Signature-256: sha256=<hex>			HMAC-SHA256 of the body; with a
 *								secret_file only
 *
 * Neither format contains a stack, a report or an input. */

struct webhook_message {
	const char *event; /* "new", "fixed", "regressed", "run-failed", "silent", "alarm" */
	const char *id;	   /* the delivery's */
	uint64_t time;	   /* when the event was found, Unix seconds */
	const struct known_crash *crash;   /* or an entry; NULL: not about a crash */
	const char *issue_url;		   /* the crash's issue; NULL: none */
	const char *target, *run, *commit; /* NULL or "": unknown */
	const char *text; /* without a crash: one sentence about the event; any bytes */
};
/* *ret is a new object. */
MUST_CHECK int webhook_payload(enum webhook_format format, const struct webhook_message *m,
			       json_t **ret, struct err *e);
/* Does its configuration ask for this event?  Every webhook gets alarms. */
bool webhook_wants(const struct webhook_config *c, const char *event);

struct http_limits;
struct webhook;
/* webhook_deliver() blocks: call it in the process that delivers.  c must outlive the object.
 * limits NULL: HTTP_LIMITS.  The URL and the key are read at the first delivery; errors contain
 * neither. */
MUST_CHECK int webhook_new(const struct webhook_config *c, const struct http_limits *limits,
			   struct webhook **ret, struct err *e);
void webhook_free(struct webhook *w); /* NULL is fine */
/* Sends one POST.  2xx: done.  408, 425, 429, 5xx and no answer: later, for the whole
 * destination.  Other answers: refused.  Without its URL and key no request is sent. */
void webhook_deliver(struct webhook *w, struct delivery *d);

enum { WEBHOOK_SIGNATURE = 7 + 64 + 1 }; /* "sha256=", 64 digits and a NUL */
/* HMAC-SHA256 (RFC 2104, FIPS 180-4). */
MUST_CHECK int webhook_sign(struct slice key, struct slice body, char out[WEBHOOK_SIGNATURE],
			    struct err *e);

#endif
