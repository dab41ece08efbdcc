/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_DOCTOR_DOCTOR_H
#define RUNNER_COMMAND_DOCTOR_DOCTOR_H

#include "base/json.h"
#include "runner/command/common/session.h"
#include "runner/status/health/health.h"

/* Between the parts of `fuzzcell doctor`. */

/* A finding that health knows nothing of: the object of health_finding_json(), added to all. */
MUST_CHECK int doctor_add(json_t *all, const char *code, enum health_severity s, const char *reason,
			  const char *advice, struct err *e);

/* What this machine is, one line ("" when it cannot be said), and what is wrong with it.  Makes
 * no cell; what it opens it closes.  s has its configuration, its state or none yet, and the plan
 * or an empty one. */
MUST_CHECK int doctor_machine(const struct session *s, json_t *findings, struct buf *ret_is,
			      struct err *e);

/* The document, for a person. */
void doctor_print(const json_t *all);

#endif
