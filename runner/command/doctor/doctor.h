/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_DOCTOR_DOCTOR_H
#define RUNNER_COMMAND_DOCTOR_DOCTOR_H

#include "base/json.h"
#include "runner/command/common/session.h"
#include "runner/status/health/health.h"

/* Shared by the parts of `fuzzcell doctor`. */

/* Adds a finding that health does not produce to all, as an object like health_finding_json()'s. */
void doctor_add(json_t *all, const char *code, enum health_severity s, const char *reason,
		const char *advice);

/* Checks this machine. *ret_is describes the machine in one line ("" if unknown). findings gets the
 * problems. Starts no cell. s has its configuration; its state may be missing and its plan
 * empty. */
MUST_CHECK int doctor_machine(const struct session *s, json_t *findings, struct buf *ret_is,
			      struct err *e);

/* Prints the document as text for users. */
void doctor_print(const json_t *all);

#endif
