/* SPDX-License-Identifier: Apache-2.0 */
/* The known facts of a target, from its history and the living run. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/serve/model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Edges at the end of each run, oldest first. */
static json_t *trend(const json_t *lines)
{
	size_t n = json_array_size(lines);
	json_t *all = json_array();

	for (size_t i = n < MODEL_TREND ? n : MODEL_TREND; i-- > 0;) {
		json_t *v = json_object_get(json_array_get(lines, i), "cov");

		if (json_is_number(v))
			json_array_append(all, v);
	}
	return all;
}

/* The size of a target's history; 0: it has none. */
static json_int_t history_size(const struct serve_site *s, const char *name)
{
	_autofree_ char *path = xasprintf("stats/targets/%s.jsonl", name);
	struct stat st;

	if (fstatat(s->state->dirfd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return (json_int_t)st.st_size;
}

static json_t *known_trend(struct serve_site *s, const char *name, json_int_t size)
{
	const json_t *known = json_object_get(s->trends, name);

	return known && json_integer_value(json_object_get(known, "size")) == size
		   ? json_incref(json_object_get(known, "trend"))
		   : NULL;
}

/* Errors are ignored: an uncached trend is computed again. */
static void keep_trend(struct serve_site *s, const char *name, json_int_t size, json_t *made)
{
	if (!s->trends || json_object_size(s->trends) > SITE_TARGETS_MAX) {
		json_decref(s->trends);
		s->trends = json_object();
	}
	(void)json_object_set_new(s->trends, name,
				  json_pack("{s:I, s:O}", "size", size, "trend", made));
}

/* Reads n lines, or more if the trend has to be computed from them. */
static int read_lines(struct serve_site *s, const char *name, size_t n, struct model_target *t,
		      struct err *e)
{
	json_int_t size = history_size(s, name);
	int r;

	t->trend = known_trend(s, name, size);
	r = site_target_lines(s, name, t->trend || n > MODEL_TREND ? n : MODEL_TREND, &t->lines, e);
	if (r < 0 || t->trend)
		return r;
	t->trend = trend(t->lines);
	if (size > 0)
		keep_trend(s, name, size, t->trend);
	return 0;
}

/* True once the target had its turn in this run. */
static bool knows(const json_t *living)
{
	return json_is_true(json_object_get(living, "fuzzed")) ||
	       json_is_true(json_object_get(living, "done"));
}

/* Fills values that the engine has not yet reported in this cell from the newest line. */
static void model_facts_fill(json_t *now, const json_t *line)
{
	static const char *const keys[] = {"cov", "edges", "ft", "corpus_units"};

	for (size_t i = 0; i < COUNT(keys); i++)
		if (get_number(now, keys[i]) == 0 && get_number(line, keys[i]) > 0)
			json_object_set(now, keys[i], json_object_get(line, keys[i]));
	if (get_number(now, "corpus_bytes") == 0)
		(void)json_object_del(now, "corpus_bytes");
}

static void newest_facts(const struct serve_site *s, const char *name, struct model_target *t)
{
	json_t *living = site_live_target(s, name), *line = json_array_get(t->lines, 0);

	t->living = living;
	t->live = living && (!line || knows(living));
	t->now = t->live ? json_copy(living) : json_incref(line);
	if (t->live)
		model_facts_fill(t->now, line);
}

/* An unreadable history is reported, and other data is still shown. */
static void no_lines(struct model_target *t, const struct err *e)
{
	snprintf(t->damaged, sizeof(t->damaged), "%s", e->msg);
	if (!t->lines)
		t->lines = json_array();
	if (!t->trend)
		t->trend = json_array();
}

int target_facts(struct model_base *b, const char *name, size_t lines, struct model_target *ret,
		 struct err *e)
{
	struct model_target t = {0};

	if (!site_target_ok(name))
		return err_set(e, ENOENT, "no such target");
	if (read_lines(b->site, name, lines, &t, e) < 0)
		no_lines(&t, e);
	newest_facts(b->site, name, &t);
	target_findings(b, name, &t);
	*ret = t;
	return 0;
}

void target_facts_done(struct model_target *t)
{
	json_decref(t->lines);
	json_decref(t->trend);
	json_decref(t->now);
	json_decref(t->findings);
	*t = (struct model_target){0};
}
