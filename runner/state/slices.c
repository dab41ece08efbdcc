/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/slices.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/policy/rule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX (INT64_C(1) << 53) /* a double represents integers exactly up to here */
#define PRICE	   0.05

struct slice_of_time {
	char build[DIGEST_SHA1_HEX];
	uint64_t at_us; /* its end, Unix time */
	uint64_t us, runs;
	uint64_t from, cov; /* edges at its beginning and end */
	uint64_t total;	    /* edges of the binary */
	uint64_t size;	    /* bytes of the binary */
	struct share_health health;
	const json_t *arms; /* borrowed, or NULL */
};

/* Its integers, for reading and writing.  Those that are 0 are left out. */
static const struct {
	const char *name;
	size_t offset;
} numbers[] = {
#define AT(member) offsetof(struct slice_of_time, member)
    {"at_us", AT(at_us)},
    {"us", AT(us)},
    {"runs", AT(runs)},
    {"from", AT(from)},
    {"cov", AT(cov)},
    {"total", AT(total)},
    {"size", AT(size)},
    {"turns", AT(health.turns)},
    {"not_started", AT(health.not_started)},
    {"limited", AT(health.limited)},
    {"crashed", AT(health.crashed)},
#undef AT
};
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

static uint64_t number_of(const struct slice_of_time *s, size_t i)
{
	return *(const uint64_t *)((const char *)s + numbers[i].offset);
}

/* --- strategies ------------------------------------------------------------------- */

bool progress_count(const json_t *v, uint64_t *ret)
{
	if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > NUMBER_MAX)
		return false;
	*ret = (uint64_t)json_integer_value(v);
	return true;
}

json_t *slices_arms_json(const struct strategy_arm arms[STRATEGIES])
{
	json_t *all = json_object();
	int r = all ? 0 : -1;

	for (enum strategy i = 0; r == 0 && i < STRATEGIES; i++) {
		const struct strategy_arm *a = &arms[i];

		if (a->spent_us + a->stood > 0)
			r = json_object_set_new(
			    all, strategy_name(i),
			    json_pack("{s:I, s:I, s:I, s:b}", "cpu_us", (json_int_t)a->spent_us,
				      "edges", (json_int_t)a->found, "stood", (json_int_t)a->stood,
				      "paid", (int)a->paid));
	}
	if (r == 0)
		return all;
	json_decref(all);
	return NULL;
}

bool slices_read_arms(const json_t *all, uint64_t build_us, uint64_t cov,
		      struct strategy_arm arms[STRATEGIES])
{
	for (enum strategy i = 0; i < STRATEGIES; i++) {
		const json_t *from = json_object_get(all, strategy_name(i));
		struct strategy_arm *a = &arms[i];

		if (!from)
			continue;
		a->paid = json_is_true(json_object_get(from, "paid"));
		if (!progress_count(json_object_get(from, "cpu_us"), &a->spent_us) ||
		    !progress_count(json_object_get(from, "edges"), &a->found) ||
		    !progress_count(json_object_get(from, "stood"), &a->stood) ||
		    a->spent_us > build_us || a->found > cov || a->stood > CURVE_EDGES_MAX + 1)
			return false;
	}
	return !all || json_is_object(all);
}

/* --- one slice -------------------------------------------------------------------- */

static bool read_slice(const json_t *from, struct slice_of_time *s)
{
	const char *build = json_get_text(from, "build");

	*s = (struct slice_of_time){.arms = json_object_get(from, "arms")};
	if (strlen(build) != DIGEST_SHA1_HEX - 1)
		return false;
	memcpy(s->build, build, DIGEST_SHA1_HEX);
	for (size_t i = 0; i < NUMBERS; i++) {
		const json_t *v = json_object_get(from, numbers[i].name);
		uint64_t *to = (uint64_t *)((char *)s + numbers[i].offset);

		if (v && !progress_count(v, to))
			return false;
	}
	return s->from <= s->cov && s->cov <= CURVE_EDGES_MAX;
}

/* Takes arms.  NULL: no memory. */
static json_t *slice_json(const struct slice_of_time *s, json_t *arms)
{
	json_t *j = json_pack("{s:s}", "build", s->build);
	int r = j ? 0 : -1;

	for (size_t i = 0; r == 0 && i < NUMBERS; i++)
		if (number_of(s, i) > 0)
			r = json_object_set_new(j, numbers[i].name,
						json_integer((json_int_t)number_of(s, i)));
	if (r == 0 && json_object_size(arms) > 0)
		r = json_object_set(j, "arms", arms);
	json_decref(arms);
	if (r == 0)
		return j;
	json_decref(j);
	return NULL;
}

bool slices_ok(const json_t *slices)
{
	struct strategy_arm arms[STRATEGIES];
	struct slice_of_time s;

	if (!json_is_array(slices) || json_array_size(slices) > SLICES_MAX)
		return false;
	for (size_t i = 0; i < json_array_size(slices); i++)
		if (!read_slice(json_array_get(slices, i), &s) ||
		    !slices_read_arms(s.arms, NUMBER_MAX, CURVE_EDGES_MAX, arms))
			return false;
	return true;
}

/* --- what a shard did -------------------------------------------------------------- */

static uint64_t more(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

static struct share_health health_since(const struct share_health *then,
					const struct share_health *now)
{
	return (struct share_health){
	    .turns = more(now->turns, then->turns),
	    .not_started = more(now->not_started, then->not_started),
	    .limited = more(now->limited, then->limited),
	    .crashed = more(now->crashed, then->crashed),
	};
}

static json_t *arms_since(const struct strategies *then, const struct strategies *now)
{
	struct strategy_arm arms[STRATEGIES];

	for (enum strategy i = 0; i < STRATEGIES; i++) {
		const struct strategy_arm *a = &then->arms[i], *b = &now->arms[i];

		arms[i] = (struct strategy_arm){.spent_us = more(b->spent_us, a->spent_us),
						.found = more(b->found, a->found),
						.paid = b->paid && !a->paid,
						.stood = b->stood != a->stood ? b->stood : 0};
	}
	return slices_arms_json(arms);
}

static void push_slice(json_t *all, const struct slice_of_time *s, json_t *arms)
{
	(void)json_array_append_new(all, slice_json(s, arms));
}

/* One slice for each point that the curve got since it had the age `since_us`. */
static void push_points(json_t *all, const struct curve *c, uint64_t since_us, uint64_t now_us,
			struct slice_of_time *io)
{
	uint64_t end_us = io->at_us;

	for (uint32_t i = 0; i < c->n; i++) {
		uint64_t age = curve_point_us(i);

		if (age <= since_us || age >= c->age_us)
			continue;
		io->us = age - since_us;
		io->cov = c->points[i] > io->from ? c->points[i] : io->from;
		io->at_us = more(now_us, c->age_us - age);
		push_slice(all, io, NULL);
		since_us = age;
		io->from = io->cov;
	}
	io->at_us = end_us;
	io->us = c->age_us - since_us;
}

json_t *slices_since(const struct progress *then, const struct progress *now, uint64_t now_us)
{
	static const struct progress nothing;
	const struct curve *c = &now->curve;
	json_t *all = json_array();
	struct slice_of_time s = {
	    .at_us = now_us, .total = now->edges_total, .size = now->build.binary.size};

	if (strcmp(then->build.id, now->build.id) != 0)
		then = &nothing;
	if (!*now->build.id || *now->forged || c->build_us <= then->curve.build_us)
		return all;
	memcpy(s.build, now->build.id, sizeof(s.build));
	s.us = c->build_us - then->curve.build_us;
	s.from = then->curve.build_us > 0 ? then->curve.cov : c->base;
	s.from = s.from < c->cov ? s.from : c->cov;
	if (c->age_us > then->curve.age_us && c->age_us - then->curve.age_us == s.us)
		push_points(all, c, then->curve.age_us, now_us, &s); /* it is the same burst */
	s.cov = c->cov;
	s.runs = more(c->runs, then->curve.runs);
	s.health = health_since(&then->health, &now->health);
	push_slice(all, &s, arms_since(&then->strategies, &now->strategies));
	return all;
}

/* --- the collected ones ------------------------------------------------------------ */

static int by_number(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By time; at the same time by their texts, so that the order depends on nothing else. */
static int by_time(const void *x, const void *y)
{
	const json_t *a = *(json_t *const *)x, *b = *(json_t *const *)y;
	int d = by_number(json_get_u64(a, "at_us"), json_get_u64(b, "at_us"));
	_autofree_ char *s = NULL, *t = NULL;

	if (d != 0)
		return d;
	s = json_dumps(a, JSON_COMPACT | JSON_SORT_KEYS);
	t = json_dumps(b, JSON_COMPACT | JSON_SORT_KEYS);
	return strcmp(s ? s : "", t ? t : "");
}

static json_t *sorted(const json_t *slices)
{
	size_t n = json_array_size(slices);
	json_t **v = xcalloc(n + 1, sizeof(json_t *));
	json_t *ret = json_array();

	for (size_t i = 0; i < n; i++)
		v[i] = json_array_get(slices, i);
	if (n > 1)
		qsort(v, n, sizeof(json_t *), by_time);
	for (size_t i = 0; i < n; i++)
		(void)json_array_append(ret, v[i]);
	free(v);
	return ret;
}

/* Joins a slice with the next one, if both are of one build and neither has more than a curve. */
static json_t *joined(const json_t *a, const json_t *b)
{
	struct slice_of_time s, t;

	if (!b || !read_slice(a, &s) || !read_slice(b, &t) || strcmp(s.build, t.build) != 0 ||
	    s.arms || t.arms)
		return NULL;
	t.us += s.us;
	t.runs += s.runs;
	t.from = s.from < t.from ? s.from : t.from;
	t.cov = s.cov > t.cov ? s.cov : t.cov;
	t.health.turns += s.health.turns;
	t.health.not_started += s.health.not_started;
	t.health.limited += s.health.limited;
	t.health.crashed += s.health.crashed;
	return slice_json(&t, NULL);
}

/* Halves the number of slices in the older half.  What cannot be joined goes. */
static json_t *thinned(const json_t *slices)
{
	size_t n = json_array_size(slices), old = n / 2;
	json_t *ret = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *both =
		    i + 1 < old ? joined(json_array_get(slices, i), json_array_get(slices, i + 1))
				: NULL;

		if (both)
			(void)json_array_append_new(ret, both);
		else if (i >= old || json_array_size(ret) < SLICES_MAX / 2)
			(void)json_array_append(ret, json_array_get(slices, i));
		i += both != NULL;
	}
	return ret;
}

int slices_add(int state, const char *target, json_t *slices, char **ret, struct err *e)
{
	_autofree_ char *path = xasprintf("stats/progress/%s.json", target);
	_autojson_ json_t *file = NULL, *all = json_array(), *list = NULL;
	struct progress old;
	char warning[200];
	int r = json_load(state, path, PROGRESS_FILE_MAX, &file, e);

	if (r < 0 && r != -ENOENT && r != -EBADMSG && r != -EFBIG)
		return r;
	progress_load(state, target, &old, warning);
	if (r < 0 || *warning) {
		json_decref(file);
		file = json_pack("{s:i}", "v", 1);
	}
	(void)json_array_extend(all, json_object_get(file, "shards"));
	(void)json_array_extend(all, slices);
	list = sorted(all);
	while (json_array_size(list) > SLICES_MAX) {
		json_t *less = thinned(list);

		json_decref(list);
		list = less;
	}
	(void)json_object_set(file, "shards", list);
	return json_print(file, 0, ret, e);
}

/* --- their sum --------------------------------------------------------------------- */

static void fold_arms(const struct strategy_arm from[STRATEGIES], const struct curve *c,
		      struct strategy_arm to[STRATEGIES])
{
	for (enum strategy i = 0; i < STRATEGIES; i++) {
		struct strategy_arm *a = &to[i];

		a->spent_us += from[i].spent_us;
		a->spent_us = a->spent_us < c->build_us ? a->spent_us : c->build_us;
		a->found += from[i].found;
		a->found = a->found < c->cov ? a->found : c->cov;
		a->paid |= from[i].paid;
		a->stood = a->stood > from[i].stood ? a->stood : from[i].stood;
	}
}

static void fold_one(const struct slice_of_time *s, struct progress *io)
{
	static const uint64_t most = UINT64_C(1) << 50;
	struct curve *c = &io->curve;

	if (c->build_us == 0 && c->cov == 0)
		curve_begin(c, s->from);
	curve_raise(c, s->from);
	(void)curve_show(c, s->cov);
	curve_spend(c, s->us < most ? s->us : most, rule_preset(PRICE, 1).burst_us);
	curve_count(c, s->runs);
	io->edges_total = s->total ? s->total : io->edges_total;
	io->health.turns += s->health.turns;
	io->health.not_started += s->health.not_started;
	io->health.limited += s->health.limited;
	io->health.crashed += s->health.crashed;
}

static bool fold_build(const json_t *slices, const char *build, struct progress *io)
{
	struct slice_of_time s;

	for (size_t i = 0; i < json_array_size(slices); i++) {
		struct strategy_arm arms[STRATEGIES] = {0};

		if (!read_slice(json_array_get(slices, i), &s) ||
		    !slices_read_arms(s.arms, NUMBER_MAX, CURVE_EDGES_MAX, arms))
			return false;
		if (strcmp(s.build, build) != 0)
			continue;
		fold_one(&s, io);
		fold_arms(arms, &io->curve, io->strategies.arms);
	}
	return curve_sane(&io->curve);
}

bool slices_fold(const json_t *slices, struct progress *io)
{
	size_t n = json_array_size(slices);
	struct file_id file = {0}; /* no file is the same as this one, but its size is known */
	struct slice_of_time newest;

	if (!json_is_array(slices) || n > SLICES_MAX)
		return false;
	if (n == 0)
		return true;
	if (!read_slice(json_array_get(slices, n - 1), &newest))
		return false;
	file.size = newest.size;
	if (strcmp(newest.build, io->build.id) != 0)
		(void)progress_take(io, &file, newest.build);
	return !*io->forged ? fold_build(slices, newest.build, io) : true;
}
