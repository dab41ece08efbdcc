/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/health/strategies.h"

#include "base/escape.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 32 };

void strategies_text(const json_t *target, bool all, char out[STRATEGIES_TEXT])
{
	json_t *of = json_object_get(target, "strategies"), *one;
	const char *name;
	size_t used = 0, others = 0;

	json_object_foreach(of, name, one)
	{
		uint64_t edges = json_get_u64(one, "edges");
		char shown[ESCAPE_MAX], time[UNITS_MAX];

		if (edges == 0 && !all)
			continue;
		others += strcmp(name, "plain") != 0;
		if (used < STRATEGIES_TEXT)
			used += (size_t)snprintf(out + used, STRATEGIES_TEXT - used,
						 "%s%.*s %llu in %s", used ? ", " : "", NAME_MOST,
						 escape(name, shown), (unsigned long long)edges,
						 units_time(json_get_us(one, "cpu_seconds"), time));
	}
	if (others == 0)
		*out = '\0';
}
