/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CRASH_PICK_H
#define RUNNER_COMMAND_CRASH_PICK_H

#include "runner/crash/ledger/ledger.h"

/* The crash that a person means: by its signature (of any text, as older ledgers have
 * them), an alias, or the beginning of one that no other has.  A crash that was merged
 * into another is its own record here; ledger_find() says which it stands for.
 * -ENOENT: none; -ENOTUNIQ: several begin so; the text names them. */
MUST_CHECK int crash_pick(const struct ledger *l, const char *text, const struct known_crash **ret,
			  struct err *e);

#endif
