/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_SUPPRESS_H
#define RUNNER_RUN_JOB_SUPPRESS_H

#include "base/buf.h"
#include "runner/crash/ledger/ledger.h"

/* Suppressions for the sanitizers, made from a target's open crashes.  With them fuzzing goes on
 * past these crashes.  A sanitizer compares them with the names in a stack, so the program needs a
 * symbolizer.
 *
 * Each function appends lines "TYPE:PATTERN".  In a pattern '*', '^' and '$' are special
 * (compiler-rt/lib/sanitizer_common/sanitizer_suppressions.cpp).  When *ret is full, its lines are
 * valid, and the others are missing. */

/* Appends suppressions for LeakSanitizer.  It suppresses each leak that has the function anywhere
 * in its stack.  An allocation function ("alloc" or "dup" is part of its name) would hide the leaks
 * of all its callers, so its caller is named instead. */
void suppress_leaks(const struct ledger *l, const char *target, struct buf *ret);
/* The function to name for a leak, from its frames.  NULL: no frame has a name. */
const char *suppress_leaking(const struct ledger_list *frames);

/* Crashes that came again although they were suppressed: the sanitizer sees other frames, or the
 * program was built without recovery. */
struct suppress_not {
	char signatures[16][LEDGER_SIGNATURE_MAX + 1];
	size_t n; /* 16: no crash is suppressed any more */
};
void suppress_not_add(struct suppress_not *io, const char *signature);

/* Appends suppressions for UndefinedBehaviorSanitizer: the crash's kind of check and its first
 * function.  It uses only checks after which the program can go on; a program that was built
 * without recovery ignores them.  Other failures of the same check in the same function are hidden,
 * too. */
void suppress_undefined(const struct ledger *l, const char *target,
			const struct suppress_not *without, struct buf *ret);

/* Whether suppress_undefined() has lines for a target's own crash. */
bool suppress_goes_on(const struct known_crash *own);

/* Patterns for a function as the ledger names it: without parameters and template arguments. */
void suppress_function(const char *type, const char *function, struct buf *ret);

#endif
