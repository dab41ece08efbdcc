/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_LEDGER_ASKED_H
#define RUNNER_CRASH_LEDGER_ASKED_H

#include "runner/crash/ledger/ledger.h"

/* Which inputs must pass before a crash is fixed in a target? A crash's parts are itself and every
 * record that is merged into it.  The target runs its own reproducers, those of its entries in all
 * parts.  Each reproducer has its own measured rate and its own passes.
 *
 * A target without a reproducer (from an older ledger) runs that of another target, until the
 * target fails again and has its own.
 *
 * runner/run/triage/triage.h has the rule that uses these inputs. */
struct ledger_asked {
	const struct known_crash *input; /* the entry with the inputs and the rate */
	const struct known_crash *count; /* the target's own entry, which counts the passes */
};

/* The next pair after *at (0 at first).  False: there is no next one. */
bool ledger_next_asked(const struct ledger *l, const struct known_crash *c, const char *target,
		       size_t *at, struct ledger_asked *ret);

#endif
