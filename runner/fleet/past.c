/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/fleet/past.h"

#include "base/json.h"
#include "runner/fleet/plan.h"
#include "runner/state/history.h"

enum { LINES = 10000 };

int fleet_past_round(const struct state *s, uint64_t *ret, struct err *e)
{
	_autojson_ json_t *lines = NULL;
	uint64_t damaged, last = 0;
	int r = history_last(s, FLEET_HISTORY, LINES, &lines, &damaged, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < json_array_size(lines); i++) {
		uint64_t round = json_get_u64(json_array_get(lines, i), "round");

		if (round > last && round < FLEET_ROUND_MAX)
			last = round;
	}
	*ret = last + 1;
	return 0;
}
