/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_DELIVERY_H
#define RUNNER_PUBLISH_DELIVERY_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* One notification for one destination, and the result of one attempt to send it.  This is the
 * interface between the outbox, which stores notifications, and the code that talks to a server.
 *
 * `event` is written once and never changes.  It is a JSON object:
 *
 *	{"event": "new" | "again" | "fixed" | "regressed" | "found" (by one more target) |
 *		  "partly" (fixed in some targets) | "smaller" (the input was minimised) |
 *		  "bisected" (the commit was found) |
 *		  "run-failed" | "silent" | "alarm",
 *	 "signature": "0123456789abcdef",		of a crash; else ""
 *	 "target": "png_fuzzer", "security": false, "time": 1700000000, "commit": "...",
 *	 "title": "...",				of an issue that has to be opened
 *	 "body": "... markdown, with the marker ...",	of that issue; the result of the upload
 *							replaces "%REPRODUCER%" in it
 *	 "comment": "... markdown ...",			for an existing issue
 *	 "entries": 2,					how many targets its issue then names
 *	 "minimized": false,				the body's input can still get smaller
 *	 "edges": "0123456789abcdef",			stands for the commits in the text
 *	 "labels": ["fuzzing", ...],
 *	 "repository": "owner/name",			of the issue
 *	 "action": "none" | "comment" | "act",		for an existing issue: "act" comments
 *							and reopens, or comments and closes
 *	 "upload": {"path": "crashes/<name>/minimized", "bytes": 5000} or null,
 *	 "payload": {...}}				a webhook's body, exactly as it is sent
 */

enum delivery_result {
	DELIVERY_DONE,
	DELIVERY_LATER,	  /* try again later */
	DELIVERY_REFUSED, /* another attempt would fail too: a user must act */
};

struct delivery {
	/* In. */
	const char *id; /* the entry's id in the outbox */
	const json_t *event;
	uint64_t created; /* Unix seconds */
	int state_dirfd;  /* what upload.path is relative to */
	/* What earlier attempts did: an object, empty at first.  Change it, then call save(),
	 * which returns 0 when the change is on disk.  Call save() before each request that must
	 * not be sent twice.  After a kill, the next attempt then checks whether the request was
	 * done. */
	json_t *progress;
	int (*save)(void *arg, struct err *e);
	void *arg;

	/* Out. */
	enum delivery_result result;
	uint64_t wait_s; /* LATER: the wait that the server asked for; 0: none */
	bool whole_host; /* LATER: it applies to everything for this destination */
	/* LATER: no request was sent, because the secret is not available.  A process that has
	 * the secret may try at once. */
	bool unasked;
	/* LATER, with whole_host: the server refused the secret.  The number identifies the
	 * secret without revealing it (token_number()).  A process with another secret may try
	 * at once.  0: no secret was refused. */
	uint64_t refused_token;
	char why[256]; /* LATER, REFUSED: the reason for users, one printable line without
			* secrets */
	char url[512]; /* of the issue; "" until it is known */
	bool ignored;  /* a user's label asks to ignore this crash */
	bool deleted;  /* a user deleted the crash's issue: nothing was sent */
	/* A warning about the destination for the user, whatever the result; "": none. */
	char warning[200];
};

#endif
