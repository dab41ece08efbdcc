/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/fuzzed.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static const char file[] = "last_fuzzed.json";
enum { FILE_MAX = 4 << 20 };

/* Loads the object; it is empty if the file is missing or damaged. */
static int fuzzed_load(int stats, json_t **ret, struct err *e)
{
	int r = json_load(stats, file, FILE_MAX, ret, e);

	if (r == 0 && json_is_object(*ret))
		return 0;
	if (r == -EIO || r == -ENOMEM)
		return r;
	if (r == 0)
		json_decref(*ret);
	*ret = json_object();
	return 0;
}

static uint64_t fuzzed_time_of(const json_t *record, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(record, key));

	return v > 0 ? (uint64_t)v : 0;
}

/* A later time was written before the clock was set back. */
static uint64_t not_after(uint64_t t, uint64_t now)
{
	return t < now ? t : now;
}

/* Sets the coverage keys of the record, from the record before (NULL: none). */
static void note_growth(json_t *record, const json_t *old, const struct fuzzed_target *t,
			uint64_t now)
{
	bool same = json_object_get(old, "grown") && fuzzed_time_of(old, "edges") == t->edges;
	uint64_t most = same ? fuzzed_time_of(old, "cov") : 0, grown = fuzzed_time_of(old, "grown");

	if (!t->fuzzed) { /* its coverage is unknown in this run */
		most = fuzzed_time_of(old, "cov");
	} else if (!same || t->cov > most) {
		most = t->cov;
		grown = now;
	}
	json_object_set_new(record, "cov", json_integer((json_int_t)most));
	json_object_set_new(
	    record, "edges",
	    json_integer((json_int_t)(t->fuzzed ? t->edges : fuzzed_time_of(old, "edges"))));
	json_object_set_new(record, "grown", json_integer((json_int_t)grown));
}

static void fuzzed_note_target(json_t *all, const struct fuzzed_target *t, uint64_t now)
{
	const json_t *old = json_object_get(all, t->name);
	uint64_t first = fuzzed_time_of(old, "first");
	json_int_t last = (json_int_t)(t->fuzzed ? now : fuzzed_time_of(old, "fuzzed"));
	json_int_t turn = (json_int_t)(t->waited ? fuzzed_time_of(old, "turn") : now);
	json_t *record =
	    json_pack("{s:I, s:I, s:I, s:I}", "fuzzed", last, "first",
		      (json_int_t)(first ? first : now), "seen", (json_int_t)now, "turn", turn);

	note_growth(record, old, t, now);
	json_object_set_new(all, t->name, record);
}

static void fuzzed_forget(json_t *all, uint64_t now)
{
	const char *name;
	json_t *record;
	void *next;

	json_object_foreach_safe(all, next, name, record)
	{
		uint64_t seen = not_after(fuzzed_time_of(record, "seen"), now);

		if (now - seen > FUZZED_FORGET_S)
			(void)json_object_del(all, name);
	}
}

int fuzzed_note(struct state *s, const struct fuzzed_target *v, size_t n, uint64_t now,
		struct err *e)
{
	_autofree_ char *text = NULL;
	_autojson_ json_t *all = NULL;
	_autoclose_ int stats = -1;
	int r = fs_open_dir(s->dirfd, "stats", &stats, e);

	if (r == 0)
		r = fuzzed_load(stats, &all, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		fuzzed_note_target(all, &v[i], now);
	fuzzed_forget(all, now);
	r = json_print(all, 1, &text, e);
	return r < 0 ? r : fs_replace(stats, file, slice_of(text), e);
}

int fuzzed_silent(const struct state *s, uint64_t now, uint64_t silent_s, fuzzed_fn *fn, void *arg,
		  struct err *e)
{
	_autojson_ json_t *all = NULL;
	_autoclose_ int stats = -1;
	int r = fs_open_dir(s->dirfd, "stats", &stats, e);
	const char *name;
	json_t *record;

	if (r == 0)
		r = fuzzed_load(stats, &all, e);
	if (r < 0)
		return r;
	json_object_foreach(all, name, record)
	{
		uint64_t last = fuzzed_time_of(record, "fuzzed");
		uint64_t since = not_after(last ? last : fuzzed_time_of(record, "first"), now);

		if (since == 0 || now - since < silent_s)
			continue;
		r = fn(arg, name, since, e);
		if (r != 0)
			return r;
	}
	return 0;
}

int fuzzed_each(const struct state *s, fuzzed_each_fn *fn, void *arg, struct err *e)
{
	_autoclose_ int stats = sys_openat(s->dirfd, "stats", O_RDONLY | O_DIRECTORY, 0);
	_autojson_ json_t *all = NULL;
	const char *name;
	json_t *record;
	int r;

	if (stats < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open 'stats'");
	r = fuzzed_load(stats, &all, e);
	if (r < 0)
		return r;
	json_object_foreach(all, name, record)
	{
		struct fuzzed_times t = {name,
					 fuzzed_time_of(record, "fuzzed"),
					 fuzzed_time_of(record, "first"),
					 fuzzed_time_of(record, "seen"),
					 fuzzed_time_of(record, "turn"),
					 fuzzed_time_of(record, "grown")};

		r = fn(arg, &t, e);
		if (r != 0)
			return r;
	}
	return 0;
}

int fuzzed_all(const struct state *s, json_t **ret, struct err *e)
{
	_autoclose_ int stats = -1;
	int r = fs_open_dir(s->dirfd, "stats", &stats, e);

	return r < 0 ? r : fuzzed_load(stats, ret, e);
}

static uint64_t greatest(const json_t *a, const json_t *b, const char *key)
{
	uint64_t x = fuzzed_time_of(a, key), y = fuzzed_time_of(b, key);

	return x > y ? x : y;
}

/* Whether b grew later; at the same time, whatever is larger. */
static bool grew_later(const json_t *a, const json_t *b)
{
	static const char *const keys[] = {"grown", "edges", "cov"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		uint64_t x = fuzzed_time_of(a, keys[i]), y = fuzzed_time_of(b, keys[i]);

		if (x != y)
			return y > x;
	}
	return false;
}

static json_t *fold_target(const json_t *a, const json_t *b)
{
	const json_t *grown = grew_later(a, b) ? b : a;
	uint64_t x = fuzzed_time_of(a, "first"), y = fuzzed_time_of(b, "first");

	return json_pack(
	    "{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "fuzzed", (json_int_t)greatest(a, b, "fuzzed"),
	    "first", (json_int_t)(x == 0 || (y > 0 && y < x) ? y : x), "seen",
	    (json_int_t)greatest(a, b, "seen"), "turn", (json_int_t)greatest(a, b, "turn"), "cov",
	    (json_int_t)fuzzed_time_of(grown, "cov"), "edges",
	    (json_int_t)fuzzed_time_of(grown, "edges"), "grown",
	    (json_int_t)fuzzed_time_of(grown, "grown"));
}

static int by_name(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* In the order of names, whatever came first. */
static void sort_names(json_t *all)
{
	_autojson_ json_t *copy = json_copy(all);
	const char **names = xcalloc(json_object_size(all) + 1, sizeof(*names)), *name;
	json_t *record;
	size_t n = 0;

	json_object_foreach(copy, name, record) names[n++] = name;
	if (n > 1)
		qsort(names, n, sizeof(*names), by_name);
	(void)json_object_clear(all);
	for (size_t i = 0; i < n; i++)
		(void)json_object_set(all, names[i], json_object_get(copy, names[i]));
	free(names);
}

void fuzzed_fold(json_t *all, json_t *from)
{
	const char *name;
	json_t *record;

	json_object_foreach(from, name, record)
	{
		if (fs_name_ok(slice_of(name)) && json_is_object(record))
			(void)json_object_set_new(all, name,
						  fold_target(json_object_get(all, name), record));
	}
	sort_names(all);
}
