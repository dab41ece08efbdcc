/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONTROL_CLIENT_H
#define RUNNER_CONTROL_CLIENT_H

#include "runner/control/request.h"

#include <stdint.h>

/* Asks the fuzzcell that runs in a state directory.  One request, one answer, one connection;
 * blocks for timeout_us at most (a run that lives answers within milliseconds).
 *
 * *ret: the answer, an object with "ok": true; decref it.  Else
 *   -ENOENT     no run lives there
 *   -EACCES     we may not ask it (this)
 *   -ETIMEDOUT  it did not answer in time
 *   -EPROTO     what it answered is no answer
 *   -EREMOTEIO  it refused: its own words
 * Strings of the answer are a target's, and not fit for a terminal. */
MUST_CHECK int control_ask(int state_dirfd, const struct control_request *q, uint64_t timeout_us,
			   json_t **ret, struct err *e);

/* {"cmd": "status"}: {"ok": true, "run": {...}, "targets": [...]}. */
MUST_CHECK int control_status(int state_dirfd, uint64_t timeout_us, json_t **ret, struct err *e);

#endif
