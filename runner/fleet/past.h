/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_FLEET_PAST_H
#define RUNNER_FLEET_PAST_H

#include "runner/state/state.h"

#include <stdint.h>

/* The rounds of the past: stats/fleet.jsonl has a line for each delta that was collected
 * (docs/histories.md). */
#define FLEET_HISTORY "fleet.jsonl"

/* The number of the next round: one more than the highest number of the last lines; 1: there was
 * none. */
MUST_CHECK int fleet_past_round(const struct state *s, uint64_t *ret, struct err *e);

#endif
