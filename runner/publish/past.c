/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/past.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/memory.h"
#include "runner/state/history.h"
#include "runner/state/series.h"

#include <stdio.h>
#include <string.h>

enum { STATS_MAX = 1 << 20, RUNS = 200 };

/* --- statistics of the run that found it ---------------------------------------- */

static bool past_from_stats(const struct state *s, const struct known_crash *c,
			    struct publish_past *ret)
{
	_autofree_ char *path = xasprintf("logs/%s/%s.stats", c->first_seen.run, c->fuzzer);
	_autojson_ json_t *j = NULL;
	struct err e;

	if (json_load(s->dirfd, path, STATS_MAX, &j, &e) < 0 || !json_object_get(j, "execs"))
		return false;
	ret->execs = json_get_u64(j, "execs");
	ret->cov = json_get_u64(j, "cov");
	ret->corpus = json_get_u64(j, "corpus_units");
	return true;
}

static uint64_t past_column(const json_t *series, const char *name)
{
	const json_t *columns = json_object_get(series, "columns");
	const json_t *points = json_object_get(series, "points");
	const json_t *last = json_array_get(points, json_array_size(points) - 1);

	for (size_t i = 0; i < json_array_size(columns); i++)
		if (strcmp(json_string_value(json_array_get(columns, i)), name) == 0) {
			json_int_t v = json_integer_value(json_array_get(last, i));

			return v > 0 ? (uint64_t)v : 0;
		}
	return 0;
}

/* Used while the run lives. */
static bool past_from_series(const struct state *s, const struct known_crash *c,
			     struct publish_past *ret)
{
	_autojson_ json_t *j = NULL;
	struct err e;

	if (series_read(s, c->first_seen.run, c->fuzzer, 1, &j, &e) < 0 ||
	    json_array_size(json_object_get(j, "points")) == 0)
		return false;
	ret->execs = past_column(j, "execs");
	ret->cov = past_column(j, "cov");
	ret->corpus = past_column(j, "corpus_units");
	return true;
}

/* --- the last commit without it ------------------------------------------------- */

/* A run's name is the time at which it began. */
static bool past_is_before(const json_t *line, const struct known_crash *c)
{
	return strcmp(json_get_text(line, "run"), c->first_seen.run) < 0;
}

static bool past_is_fuzzed(const json_t *line)
{
	return json_get_u64(line, "execs") > 0 && *json_get_text(line, "commit");
}

static void past_clean_at(const struct state *s, const struct known_crash *c,
			  struct publish_past *ret)
{
	_autofree_ char *name = NULL;
	_autojson_ json_t *lines = NULL;
	uint64_t damaged;
	struct err e;

	if (history_target_name(c->fuzzer, &name, &e) < 0 ||
	    history_last(s, name, RUNS, &lines, &damaged, &e) < 0)
		return;
	for (size_t i = json_array_size(lines); i-- > 0;) {
		const json_t *line = json_array_get(lines, i);

		if (!past_is_before(line, c))
			continue;
		/* An untriaged artifact of that run may be this crash. */
		if (json_get_u64(line, "untriaged") > 0)
			return;
		if (!past_is_fuzzed(line))
			continue;
		if (strcmp(json_get_text(line, "commit"), c->first_seen.commit) != 0)
			(void)snprintf(ret->clean_at, sizeof(ret->clean_at), "%s",
				       json_get_text(line, "commit"));
		return;
	}
}

void past_of(const struct state *s, const struct known_crash *entry, struct publish_past *ret)
{
	*ret = (struct publish_past){0};
	if (!fs_name_ok(slice_of(entry->first_seen.run)) || !fs_name_ok(slice_of(entry->fuzzer)))
		return;
	ret->known = past_from_stats(s, entry, ret) || past_from_series(s, entry, ret);
	past_clean_at(s, entry, ret);
}
