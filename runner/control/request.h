/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONTROL_REQUEST_H
#define RUNNER_CONTROL_REQUEST_H

#include "base/err.h"
#include "base/json.h"
#include "base/scan.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Requests over the control socket of a run (docs/control.md): one JSON object per line.  Requests
 * are untrusted. */
#define CONTROL_SOCKET "control.sock" /* in the state directory */

/* Fills in the address of a state directory's control socket and returns its length.  The path
 * goes through the open descriptor, because a socket path has 107 bytes at most. */
socklen_t control_address(int state_dirfd, struct sockaddr_un *ret);

enum {
	CONTROL_LINE_MAX = 4096, /* bytes of a request, with its newline */
	CONTROL_TARGET_MAX = 255,
	CONTROL_CELLS_MAX = 1024,
	CONTROL_ANSWER_MAX = 4 << 20,
};

enum control_cmd {
	CONTROL_STATUS, /* the run, and all targets */
	CONTROL_TARGET, /* one target, with all that is known of it */
	CONTROL_STOP,	/* stops the target for this run, unless a user starts it again */
	CONTROL_START,	/* puts the target back in the queue, with the next turn */
	CONTROL_SKIP,	/* ends the target's turn */
	CONTROL_WORKERS,
	CONTROL_END, /* ends the run */
	CONTROL_CMD_COUNT,
};

struct control_request {
	enum control_cmd cmd;
	char target[CONTROL_TARGET_MAX + 1]; /* "": the command has none */
	unsigned workers;		     /* 1 to CONTROL_CELLS_MAX */
	bool now;			     /* stop, end: kill the cells */
};

/* Pure.  Refuses unknown keys, and keys of another command.  The peer receives the text of the
 * error. */
MUST_CHECK int control_request_parse(struct slice line, struct control_request *ret, struct err *e);
/* The request as JSON, {"cmd": ...}. */
MUST_CHECK int control_request_json(const struct control_request *q, json_t **ret, struct err *e);

/* Whether the command changes nothing. */
bool control_only_reads(enum control_cmd c);
const char *control_cmd_name(enum control_cmd c); /* "status", ... */

#endif
