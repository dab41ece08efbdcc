/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_PAST_H
#define RUNNER_PUBLISH_PAST_H

#include "runner/crash/ledger/ledger.h"
#include "runner/publish/publish.h"
#include "runner/state/state.h"

/* Reads from the histories and logs what happened before a target's crash.  Values that cannot
 * be read are unknown. */
void past_of(const struct state *s, const struct known_crash *entry, struct publish_past *ret);

#endif
