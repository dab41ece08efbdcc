/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_LEDGER_FIX_H
#define RUNNER_CRASH_LEDGER_FIX_H

#include "runner/crash/ledger.h"

/* Which inputs say that a crash is fixed in a target?
 *
 * A crash's parts are itself and every record that is merged into it.  A target is asked with
 * its own reproducers: those of its entries in all parts, each with a measured rate and
 * passes of its own.  A target that has none (of a ledger from before there were entries) is
 * asked with that of another target, until it fails once more and has its own.
 * runner/schedule/triage.h has the rule that stands on this. */
struct ledger_asked {
	const struct known_crash *input; /* the entry whose inputs are run, and whose rate counts */
	const struct known_crash *count; /* the target's own entry, which counts the passes */
};

/* The next from *at (0 at first) on; false: that was the last. */
bool ledger_next_asked(const struct ledger *l, const struct known_crash *c, const char *target,
		       size_t *at, struct ledger_asked *ret);

#endif
