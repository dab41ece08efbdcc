/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONTROL_REQUEST_H
#define RUNNER_CONTROL_REQUEST_H

#include "base/err.h"
#include "base/json.h"
#include "base/scan.h"

#include <stdbool.h>

/* What a running fuzzcell is asked over its control socket (docs/control.md): a line, which
 * is a JSON object.  It comes from whoever may connect. */
#define CONTROL_SOCKET "control.sock" /* in the state directory */

enum {
	CONTROL_LINE_MAX = 4096, /* of a request, with its newline */
	CONTROL_TARGET_MAX = 255,
	CONTROL_CELLS_MAX = 1024,
	CONTROL_ANSWER_MAX = 4 << 20,
};

enum control_cmd {
	CONTROL_STATUS, /* the run, and all targets */
	CONTROL_TARGET, /* one target, with all that is known of it */
	CONTROL_STOP,	/* it is not fuzzed again in this run, until somebody starts it */
	CONTROL_START,	/* it waits again, and its turn is next */
	CONTROL_SKIP,	/* its turn is over */
	CONTROL_WORKERS,
	CONTROL_END, /* of the run */
	CONTROL_CMD_COUNT,
};

struct control_request {
	enum control_cmd cmd;
	char target[CONTROL_TARGET_MAX + 1]; /* "": the command has none */
	unsigned workers;		     /* 1 to CONTROL_CELLS_MAX */
	bool now;			     /* stop, end: at once */
};

/* Pure.  Unknown keys, and those of another command, are refused: an error is what the peer
 * reads. */
MUST_CHECK int control_request_parse(struct slice line, struct control_request *ret, struct err *e);
/* {"cmd": ...} of it. */
MUST_CHECK int control_request_json(const struct control_request *q, json_t **ret, struct err *e);

/* Whether it changes nothing. */
bool control_looks(enum control_cmd c);
const char *control_cmd_name(enum control_cmd c); /* "status", ... */

#endif
