/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONTROL_CLIENT_H
#define RUNNER_CONTROL_CLIENT_H

#include "runner/control/request.h"

#include <stdint.h>

/* Sends one request over a new connection to the run that is active in a state directory.
 * Blocks for timeout_us at most; an active run answers within milliseconds.
 *
 * *ret: the answer, an object with "ok": true; decref it.  Errors:
 *   -ENOENT     no run is active there
 *   -EACCES     this user may not connect
 *   -ETIMEDOUT  the run did not answer in time
 *   -EPROTO     the answer is malformed
 *   -EREMOTEIO  the run refused; *e has its message
 * The answer may contain text from targets: escape it before printing to a terminal. */
MUST_CHECK int control_ask(int state_dirfd, const struct control_request *q, uint64_t timeout_us,
			   json_t **ret, struct err *e);

/* {"cmd": "status"}: {"ok": true, "run": {...}, "targets": [...]}. */
MUST_CHECK int control_status(int state_dirfd, uint64_t timeout_us, json_t **ret, struct err *e);

#endif
