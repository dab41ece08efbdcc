/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_HEALTH_STRATEGIES_H
#define RUNNER_STATUS_HEALTH_STRATEGIES_H

#include "base/json.h"

#include <stdbool.h>

/* Which fuzzing strategies found how many edges of a target's build, as text: "plain 812 in 4min,
 * few-mutations 12 in 40s".  "" if only the plain way was tried, or nothing is known.
 *
 * target: the target's object of runner/status/summary.h, not trusted.  all: also those that found
 * nothing. */
enum { STRATEGIES_TEXT = 400 };
void strategies_text(const json_t *target, bool all, char out[STRATEGIES_TEXT]);

#endif
