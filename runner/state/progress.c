/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/progress.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "runner/state/slices.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { VERSION = 1, MODE_OURS = 0750, PATH_ROOM = 320 };

static const char dir_name[] = "stats/progress";

/* The integers of struct progress, for reading and writing. */
struct number {
	const char *name;
	size_t offset;
};
#define AT(member) offsetof(struct progress, member)
static const struct number numbers[] = {
    {"size", AT(build.binary.size)},
    {"edges_total", AT(edges_total)},
    {"before_cov", AT(build.before_cov)},
    {"before_total", AT(build.before_total)},
    {"build_us", AT(curve.build_us)},
    {"age_us", AT(curve.age_us)},
    {"cov", AT(curve.cov)},
    {"base", AT(curve.base)},
    {"gain_us", AT(curve.gain_us)},
    {"runs", AT(curve.runs)},
    {"window_us", AT(curve.window_us)},
    {"window_cov", AT(curve.window_cov)},
    {"turns", AT(health.turns)},
    {"not_started", AT(health.not_started)},
    {"limited", AT(health.limited)},
    {"crashed", AT(health.crashed)},
};
#undef AT
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

static uint64_t *progress_number_at(struct progress *p, size_t i)
{
	return (uint64_t *)((char *)p + numbers[i].offset);
}

/* --- reading ---------------------------------------------------------------- */

static bool read_points(const json_t *from, struct curve *c)
{
	const json_t *list = json_object_get(from, "points");

	if (!json_is_array(list) || json_array_size(list) > CURVE_POINTS)
		return false;
	c->n = (uint32_t)json_array_size(list);
	for (uint32_t i = 0; i < c->n; i++) {
		uint64_t edges;

		if (!progress_count(json_array_get(list, i), &edges) || edges > UINT32_MAX)
			return false;
		c->points[i] = (uint32_t)edges;
	}
	return true;
}

static void read_forged(const json_t *from, struct progress *p)
{
	const char *forged = json_string_value(json_object_get(from, "forged"));

	snprintf(p->forged, sizeof(p->forged), "%s", forged ? forged : "");
	for (char *c = p->forged; *c; c++) /* the text is printed */
		if (*c < ' ' || *c > '~')
			*c = '?';
}

/* An older file has no strategies. */
static bool read_strategies(const json_t *from, const struct curve *c, struct strategies *s)
{
	const char *owed = json_string_value(json_object_get(from, "owed"));

	for (enum strategy i = 0; i < STRATEGIES; i++)
		if (owed && strcmp(owed, strategy_name(i)) == 0 && strategy_reads_less(i))
			s->owed = i;
	return slices_read_arms(json_object_get(from, "strategies"), c->build_us, c->cov, s->arms);
}

static bool progress_read_all(const json_t *from, struct progress *p)
{
	const char *build = json_string_value(json_object_get(from, "build"));
	const json_t *f1 = json_object_get(from, "window_f1"),
		     *mtime = json_object_get(from, "mtime_ns"),
		     *ctime = json_object_get(from, "ctime_ns");
	const struct share_health *h = &p->health;

	if (json_integer_value(json_object_get(from, "v")) != VERSION)
		return false;
	if (!build || strlen(build) != DIGEST_SHA1_HEX - 1 || !json_is_number(f1) ||
	    !json_is_integer(mtime) || !json_is_integer(ctime))
		return false;
	memcpy(p->build.id, build, DIGEST_SHA1_HEX);
	read_forged(from, p);
	/* An older file does not have it. */
	(void)progress_count(json_object_get(from, "partners_read_us"), &p->partners_read_us);
	p->curve.window_f1 = json_number_value(f1);
	p->build.binary.mtime_ns = json_integer_value(mtime);
	p->build.binary.ctime_ns = json_integer_value(ctime);
	for (size_t i = 0; i < NUMBERS; i++)
		if (!progress_count(json_object_get(from, numbers[i].name),
				    progress_number_at(p, i)))
			return false;
	return read_points(from, &p->curve) && read_strategies(from, &p->curve, &p->strategies) &&
	       curve_sane(&p->curve) && h->not_started <= h->turns && h->limited <= h->turns &&
	       h->crashed <= h->turns;
}

/* A target that only shards have fuzzed has nothing but their slices. */
static bool progress_read(const json_t *from, struct progress *p)
{
	const json_t *slices = json_object_get(from, "shards");

	if (json_object_get(from, "build") || !slices)
		return progress_read_all(from, p) && (!slices || slices_fold(slices, p));
	return slices_fold(slices, p);
}

void progress_load(int state, const char *target, struct progress *ret, char warning[200])
{
	_autojson_ json_t *j = NULL;
	char path[PATH_ROOM];
	struct err e;
	int r;

	*warning = '\0';
	*ret = (struct progress){0};
	snprintf(path, sizeof(path), "%s/%s.json", dir_name, target);
	r = json_load(state, path, PROGRESS_FILE_MAX, &j, &e);
	if (r == 0 && progress_read(j, ret))
		return;
	*ret = (struct progress){0};
	if (r != -ENOENT)
		snprintf(warning, 200, "'%.100s' is damaged and ignored%s%.60s", path,
			 r < 0 ? ": " : "", r < 0 ? e.msg : "");
}

/* --- writing ---------------------------------------------------------------- */

static json_t *to_json(const struct progress *p)
{
	json_t *j =
	    json_pack("{s:i, s:s, s:I, s:I, s:f}", "v", VERSION, "build", p->build.id, "mtime_ns",
		      (json_int_t)p->build.binary.mtime_ns, "ctime_ns",
		      (json_int_t)p->build.binary.ctime_ns, "window_f1", p->curve.window_f1);
	json_t *points = json_array();
	struct progress copy = *p;
	int r = j && points ? 0 : -1;

	if (r == 0 && *p->forged)
		r = json_object_set_new(j, "forged", json_string(p->forged));

	if (r == 0 && p->partners_read_us)
		r = json_object_set_new(j, "partners_read_us",
					json_integer((json_int_t)p->partners_read_us));
	for (size_t i = 0; r == 0 && i < NUMBERS; i++)
		r = json_object_set_new(j, numbers[i].name,
					json_integer((json_int_t)*progress_number_at(&copy, i)));
	for (uint32_t i = 0; r == 0 && i < p->curve.n; i++)
		r = json_array_append_new(points, json_integer((json_int_t)p->curve.points[i]));
	if (r == 0)
		r = json_object_set(j, "points", points);
	if (r == 0)
		r = json_object_set_new(j, "strategies", slices_arms_json(p->strategies.arms));
	if (r == 0)
		r = json_object_set_new(j, "owed", json_string(strategy_name(p->strategies.owed)));
	json_decref(points);
	if (r == 0)
		return j;
	json_decref(j);
	return NULL;
}

int progress_save(int state, const char *target, const struct progress *p, struct err *e)
{
	_autojson_ json_t *j = to_json(p);
	_autofree_ char *text = NULL;
	_autoclose_ int dir = -1;
	char name[PATH_ROOM];
	int r = j ? json_print(j, 0, &text, e) : err_set(e, ENOMEM, "build JSON");

	if (r == 0)
		r = fs_make_dir(state, dir_name, MODE_OURS, &dir, e);
	snprintf(name, sizeof(name), "%s.json", target);
	return r == 0 ? fs_replace(dir, name, slice_of(text), e) : r;
}

/* --- builds ----------------------------------------------------------------- */

int progress_identify(const struct progress_build *b, const char *binary, struct file_id *ret_file,
		      char id[DIGEST_SHA1_HEX], struct err *e)
{
	_autoclose_ int fd = -1;
	int r;

	if (!file_id_look(binary, ret_file))
		return err_set(e, ENOENT, "'%s' is no longer there", binary);
	if (*b->id && file_id_same(ret_file, &b->binary)) {
		memcpy(id, b->id, DIGEST_SHA1_HEX);
		return 0;
	}
	r = fs_open_file(AT_FDCWD, binary, O_RDONLY, 0, &fd, e);
	if (r < 0)
		return r;
	return digest_sha1_file(fd, SIZE_MAX, id, e);
}

bool progress_take(struct progress *p, const struct file_id *file, const char *id)
{
	bool other = strcmp(p->build.id, id) != 0;
	/* A build that hardly fuzzed is no basis for comparison if an older build is better. */
	bool fuzzed = p->curve.cov > 0 && !*p->forged &&
		      (p->build.before_cov == 0 || p->curve.build_us > PROGRESS_JUDGED_US);

	if (other)
		*p = (struct progress){
		    .build.before_cov = fuzzed ? p->curve.cov : p->build.before_cov,
		    .build.before_total = fuzzed ? p->edges_total : p->build.before_total,
		};
	snprintf(p->build.id, sizeof(p->build.id), "%s", id);
	p->build.binary = *file;
	return other;
}

bool progress_dropped(const struct progress_build *b, uint64_t cov, uint64_t edges_total)
{
	/* Coverage is under four fifths, though the build has at least 95 % as many edges. */
	return b->before_cov > 0 && cov < b->before_cov - b->before_cov / 5 &&
	       edges_total >= b->before_total - b->before_total / 20;
}
