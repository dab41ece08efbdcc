/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_DELIVERY_H
#define RUNNER_PUBLISH_DELIVERY_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* One thing that is to be told to one destination, and what one attempt at it came to:
 * the seam between the outbox, which remembers, and those who talk to a server.
 *
 * `event` was written down once and never changes; as JSON:
 *
 *	{"event": "new" | "again" | "fixed" | "regressed" | "found" (by one more target) |
 *		  "partly" (fixed in some targets) | "smaller" (the input was minimised) |
 *		  "run-failed" | "silent" | "alarm",
 *	 "signature": "0123456789abcdef",		of a crash; else ""
 *	 "target": "png_fuzzer", "security": false, "time": 1700000000, "commit": "...",
 *	 "title": "...",				of an issue that is to be opened
 *	 "body": "... markdown, with the marker ...",	of that issue; "%REPRODUCER%" in it is
 *							replaced by what upload came to
 *	 "comment": "... markdown ...",			for an issue that is there already
 *	 "entries": 2,					how many targets its issue names then
 *	 "minimized": false,				its body's input can still get smaller
 *	 "labels": ["fuzzing", ...],
 *	 "repository": "owner/name",			where
 *	 "action": "none" | "comment" | "act",		to an issue that is there: "act" is
 *							comment and reopen, or comment and close
 *	 "upload": {"path": "crashes/<name>/minimized", "bytes": 5000} or null,
 *	 "payload": {...}}				a webhook's body, as it is sent
 */

enum delivery_result {
	DELIVERY_DONE,
	DELIVERY_LATER,	  /* not now; worth another try */
	DELIVERY_REFUSED, /* no try as it is will do; a person must look */
};

struct delivery {
	/* In. */
	const char *id; /* the outbox's */
	const json_t *event;
	uint64_t created; /* Unix seconds */
	int state_dirfd;  /* what upload.path is relative to */
	/* What earlier attempts did, an object (empty at first).  Change it, then save(): 0
	 * means "on disk".  Call it before each request that would be seen if it were sent
	 * twice: a kill after it must find out, not send again. */
	json_t *progress;
	int (*save)(void *arg, struct err *e);
	void *arg;

	/* Out. */
	enum delivery_result result;
	uint64_t wait_s; /* LATER: the server's own wish, counted from now; 0: ours to choose */
	bool whole_host; /* and it holds for everything that goes to this destination */
	/* LATER: nobody was asked, for the secret that is to be shown is not at hand; whoever has
	 * it may try at once. */
	bool unasked;
	/* LATER, of the whole host: the secret that was shown is refused.  A number that stands
	 * for it and does not give it away; who has another one may try at once.  0: it is not. */
	uint64_t refused_token;
	char why[256]; /* LATER, REFUSED: for people, one printable line, no secret in it */
	char url[512]; /* of the issue, once known; "" */
	bool ignored;  /* a person's label says that this crash is not to be told */
	bool deleted;  /* a person deleted its issue: nothing was told */
	/* What a person should know of the destination, whatever the result; "" nothing. */
	char warning[200];
};

#endif
