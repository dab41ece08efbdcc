/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CRASH_JSON_H
#define RUNNER_COMMAND_CRASH_JSON_H

#include "base/json.h"
#include "runner/crash/ledger/ledger.h"

/* Crashes as in known_crashes.json, including unknown keys, and with their name as "signature". */

/* The whole ledger: signature -> crash. */
MUST_CHECK int crash_json_all(const struct ledger *l, json_t **ret, struct err *e);
/* *ret is a new object. -ENOENT: all has no such crash. */
MUST_CHECK int crash_json_one(const json_t *all, const char *signature, json_t **ret,
			      struct err *e);

#endif
