/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CONTROL_STATUS_H
#define RUNNER_COMMAND_CONTROL_STATUS_H

#include "base/buf.h"
#include "base/json.h"

/* Writes the findings about a target, from the run's answer, one per line, fit for a terminal. all:
 * also notes and advice, or that the target is healthy. Otherwise only warnings and errors. */
void status_health(const json_t *target, bool all, struct buf *out);
/* Writes a page about a target, from the run's answer, fit for a terminal. */
void status_page(const json_t *target, struct buf *out);

#endif
