/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/ledger_fix.h"

#include <string.h>

const struct known_crash *ledger_next_part(const struct ledger *l, const struct known_crash *c,
					   size_t *at)
{
	while (*at <= c->aliases.n) {
		size_t i = (*at)++;
		const struct known_crash *part = i == 0 ? c : ledger_record(l, c->aliases.v[i - 1]);

		if (part && *part->crash_file)
			return part; /* an alias need not have a record */
	}
	return NULL;
}

/* The i-th of those that found it; NULL: there is none. */
static const char *finder(const struct known_crash *c, size_t i)
{
	if (i == 0)
		return c->fuzzer;
	return i <= c->targets.n ? c->targets.v[i - 1] : NULL;
}

const char *ledger_next_asked(const struct known_crash *c, const struct known_crash *part,
			      size_t *at)
{
	size_t of_crash = c->targets.n + 1;
	const char *target;

	do {
		size_t i = (*at)++;

		target = i < of_crash ? finder(c, i) : NULL;
		if (i < of_crash || part == c)
			continue;
		target = finder(part, i - of_crash);
		if (target && ledger_found_by(c, target))
			target = ""; /* it was asked for above */
	} while (target && !*target);
	return target;
}

bool ledger_is_asked(const struct known_crash *c, const struct known_crash *part,
		     const char *target)
{
	return ledger_found_by(c, target) || ledger_found_by(part, target);
}
