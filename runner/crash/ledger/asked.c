/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/ledger/asked.h"

#include <string.h>

/* The i-th part of the crash: the crash itself, then the records that are merged into it. */
static const struct known_crash *part_at(const struct ledger *l, const struct known_crash *c,
					 size_t i)
{
	return i == 0 ? c : ledger_record(l, c->aliases.v[i - 1]); /* an alias may have no record */
}

static const struct known_crash *own_input(const struct known_crash *part, const char *target)
{
	const struct known_crash *t = ledger_entry(part, target);

	return t && *t->crash_file ? t : NULL;
}

static const struct known_crash *borrowed_input(const struct ledger *l, const struct known_crash *c)
{
	for (size_t i = 0; i <= c->aliases.n; i++) {
		const struct known_crash *part = part_at(l, c, i);

		if (part && *part->crash_file)
			return part->by[part->lead];
	}
	return NULL;
}

bool ledger_next_asked(const struct ledger *l, const struct known_crash *c, const char *target,
		       size_t *at, struct ledger_asked *ret)
{
	bool any = false;

	for (size_t i = 0; i <= c->aliases.n; i++) {
		const struct known_crash *part = part_at(l, c, i);
		const struct known_crash *t = own_input(part, target);

		any = any || t;
		if (i < *at || !t)
			continue;
		*at = i + 1;
		*ret = (struct ledger_asked){t, t};
		return true;
	}
	if (any || *at > 0 || !ledger_entry(c, target) || !borrowed_input(l, c))
		return false;
	*at = c->aliases.n + 1;
	*ret = (struct ledger_asked){borrowed_input(l, c), ledger_entry(c, target)};
	return true;
}
