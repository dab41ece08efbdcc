/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_LEDGER_FIX_H
#define RUNNER_CRASH_LEDGER_FIX_H

#include "runner/crash/ledger.h"

/* Whose inputs say that a crash is fixed, and in which targets?
 *
 * A crash's parts are itself and every record that is merged into it, as far as they have
 * an input: each keeps inputs, a measured rate and passes of its own.  Since a merge the
 * crash counts what is seen of any of them, so a merged part is asked in the targets that
 * found it and in those that found the crash; the crash itself in its own alone.
 * runner/schedule/triage.h has the rule that stands on this. */

/* The next part from *at (0 at first) on; NULL: that was the last. */
const struct known_crash *ledger_next_part(const struct ledger *l, const struct known_crash *c,
					   size_t *at);
/* The next target that a part of c is asked in, once each; NULL: that was the last. */
const char *ledger_next_asked(const struct known_crash *c, const struct known_crash *part,
			      size_t *at);
bool ledger_is_asked(const struct known_crash *c, const struct known_crash *part,
		     const char *target);

#endif
