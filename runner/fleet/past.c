/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/fleet/past.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/memory.h"
#include "runner/state/history.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 10000 };

/* --- the newest round ---------------------------------------------------------------- */

/* Of the plans with the highest number the newest one: a plan may have been made twice. */
static const json_t *newest_line(const json_t *lines)
{
	const json_t *ret = NULL;

	for (size_t i = 0; i < json_array_size(lines); i++) {
		const json_t *j = json_array_get(lines, i);

		if (json_get_u64(j, "shards") < 1 || json_get_u64(j, "shards") > SHARDS_MAX_COUNT)
			continue;
		if (!ret || json_get_u64(j, "round") > json_get_u64(ret, "round") ||
		    (json_get_u64(j, "round") == json_get_u64(ret, "round") &&
		     json_get_u64(j, "until") >= json_get_u64(ret, "until")))
			ret = j;
	}
	return ret;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct seen {
	bool gave, ended;
};

static void add_line(const json_t *j, struct fleet_round *io, struct seen *seen, json_t *nodes)
{
	uint64_t shard = json_get_u64(j, "shard");

	if (json_get_u64(j, "round") != io->round ||
	    strcmp(json_get_text(j, "plan"), io->plan) != 0 || shard < 1 || shard > io->shards)
		return;
	seen[shard - 1].gave = true;
	seen[shard - 1].ended |= json_is_true(json_object_get(j, "last"));
	io->due = later(io->due, json_get_u64(j, "due"));
	io->until = later(io->until, json_get_u64(j, "until"));
	io->inputs += json_get_u64(j, "inputs");
	io->edges += json_get_u64(j, "edges");
	io->crashes += json_get_u64(j, "crashes");
	io->cpu_seconds += json_number_value(json_object_get(j, "cpu_seconds"));
	(void)json_object_set_new(nodes, json_get_text(j, "node"), json_true());
}

int fleet_past_newest(const struct state *s, struct fleet_round *ret, struct err *e)
{
	_autojson_ json_t *lines = NULL, *nodes = json_object();
	_autofree_ struct seen *seen = NULL;
	const json_t *newest;
	uint64_t damaged;
	int r = history_last(s, FLEET_HISTORY, LINES, &lines, &damaged, e);

	*ret = (struct fleet_round){0};
	newest = r == 0 ? newest_line(lines) : NULL;
	if (!newest)
		return r;
	ret->round = json_get_u64(newest, "round");
	ret->shards = (unsigned)json_get_u64(newest, "shards");
	snprintf(ret->plan, sizeof(ret->plan), "%s", json_get_text(newest, "plan"));
	seen = xcalloc(ret->shards, sizeof(*seen));
	for (size_t i = 0; i < json_array_size(lines); i++)
		add_line(json_array_get(lines, i), ret, seen, nodes);
	for (unsigned i = 0; i < ret->shards; i++) {
		ret->gave += seen[i].gave;
		ret->ended += seen[i].ended;
	}
	ret->nodes = (unsigned)json_object_size(nodes);
	return 0;
}

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
