/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CRASH_PICK_H
#define RUNNER_COMMAND_CRASH_PICK_H

#include "runner/crash/ledger/ledger.h"

/* Finds the crash that a user names: by its signature (arbitrary text), an alias,
 * or a unique prefix of a signature. A crash that was merged into another is found as its own
 * record; ledger_find() returns the other one. -ENOENT: there is none. -ENOTUNIQ: several match;
 * the error text names them. */
MUST_CHECK int crash_pick(const struct ledger *l, const char *text, const struct known_crash **ret,
			  struct err *e);

#endif
