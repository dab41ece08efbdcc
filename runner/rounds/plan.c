/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/rounds/plan.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/scan.h"
#include "runner/targets/names.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1 };

void round_plan_done(struct round_plan *p)
{
	for (unsigned i = 0; i < p->shards; i++) {
		for (size_t k = 0; k < p->v[i].n; k++)
			free(p->v[i].v[k].target);
		free(p->v[i].v);
	}
	free(p->v);
	*p = (struct round_plan){0};
}

/* --- making one ------------------------------------------------------------------- */

static int largest_first(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return (*a < *b) - (*a > *b);
}

static uint64_t memory_of(const struct shards_one *from, const uint64_t *memory, unsigned workers)
{
	uint64_t *v = xcalloc(from->n + 1, sizeof(*v)), sum = 0;

	for (size_t i = 0; i < from->n; i++)
		v[i] = memory[from->v[i].target];
	if (from->n > 1)
		qsort(v, from->n, sizeof(*v), largest_first);
	for (size_t i = 0; i < from->n && i < workers; i++)
		sum += v[i];
	free(v);
	return sum;
}

static void make_share(const struct shards_one *from, const struct shards_spec *spec,
		       struct round_share *to)
{
	to->edges = from->edges;
	to->v = xcalloc(from->n + 1, sizeof(*to->v));
	for (; to->n < from->n; to->n++) {
		const struct shards_piece *p = &from->v[to->n];

		to->v[to->n] = (struct round_piece){
		    .target = xstrdup(spec->targets[p->target].name),
		    .us = (uint64_t)llround(p->seconds * (double)USEC_PER_SEC),
		    .part = p->part,
		    .parts = p->parts,
		};
		to->us += to->v[to->n].us;
	}
}

void round_plan_make(const struct shards *s, const struct shards_spec *spec, const uint64_t *memory,
		     uint64_t round, uint64_t time_us, struct round_plan *ret)
{
	_autojson_ json_t *j = NULL;

	*ret = (struct round_plan){
	    .round = round, .workers = spec->workers, .time_us = time_us, .shards = s->n};
	ret->v = xcalloc(s->n, sizeof(*ret->v));
	for (unsigned i = 0; i < s->n; i++) {
		make_share(&s->v[i], spec, &ret->v[i]);
		ret->v[i].memory = memory_of(&s->v[i], memory, spec->workers);
	}
	j = round_plan_json(ret); /* computes the id */
	snprintf(ret->id, sizeof(ret->id), "%s", json_get_text(j, "id"));
}

/* --- JSON ------------------------------------------------------------------------- */

/* Microseconds as a number that is read back exactly. */
static json_t *seconds_of(uint64_t us)
{
	return json_real((double)us / (double)USEC_PER_SEC);
}

static json_t *share_json(const struct round_share *s, unsigned number)
{
	json_t *targets = json_array();

	for (size_t i = 0; i < s->n; i++)
		(void)json_array_append_new(targets, json_pack("{s:s, s:o, s:I, s:I}", "name",
							       s->v[i].target, "cpu_seconds",
							       seconds_of(s->v[i].us), "part",
							       (json_int_t)s->v[i].part + 1,
							       "parts", (json_int_t)s->v[i].parts));
	return json_pack("{s:I, s:o, s:f, s:I, s:o}", "shard", (json_int_t)number, "cpu_seconds",
			 seconds_of(s->us), "edges_expected", s->edges, "memory_bytes",
			 (json_int_t)s->memory, "targets", targets);
}

/* The first half of the SHA-1 of all that is in it but the id itself. */
static int identify(json_t *j, char id[ROUND_PLAN_ID], struct err *e)
{
	_autojson_ json_t *rest = json_copy(j);
	_autofree_ char *text = NULL;
	char hex[DIGEST_SHA1_HEX];
	int r;

	(void)json_object_del(rest, "id");
	r = json_print(rest, 0, &text, e);
	if (r < 0)
		return r;
	digest_sha1_hex(slice_of(text), hex);
	snprintf(id, ROUND_PLAN_ID, "%.16s", hex);
	return 0;
}

/* How batch engines start the shards, and by which variable each learns its number. */
static json_t *environment_json(unsigned shards)
{
	_autofree_ char *slurm = xasprintf("--array=1-%u", shards);
	_autofree_ char *kubernetes = xasprintf("completions: %u, completionMode: Indexed", shards);
	_autofree_ char *any = xasprintf("i/%u, i from 1", shards);

	return json_pack("{s:s, s:s, s:s}", "SLURM_ARRAY_TASK_ID", slurm, "JOB_COMPLETION_INDEX",
			 kubernetes, "FUZZCELL_SHARD", any);
}

json_t *round_plan_json(const struct round_plan *p)
{
	json_t *shares = json_array(), *j;
	char id[ROUND_PLAN_ID] = "";
	struct err e;

	for (unsigned i = 0; i < p->shards; i++)
		(void)json_array_append_new(shares, share_json(&p->v[i], i + 1));
	j = json_pack("{s:i, s:s, s:I, s:I, s:I, s:o, s:o, s:o}", "v", VERSION, "id", "", "round",
		      (json_int_t)p->round, "shards", (json_int_t)p->shards, "workers",
		      (json_int_t)p->workers, "seconds", seconds_of(p->time_us), "environment",
		      environment_json(p->shards), "shares", shares);
	if (identify(j, id, &e) == 0)
		(void)json_object_set_new(j, "id", json_string(id));
	return j;
}

static bool read_number(const json_t *o, const char *key, uint64_t least, uint64_t most,
			uint64_t *ret)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(v);
	return *ret >= least && *ret <= most;
}

static int read_piece(const json_t *from, struct round_piece *p, struct err *e)
{
	const char *name = json_get_text(from, "name");
	uint64_t part, parts;

	if (!names_target_ok(slice_of(name)))
		return err_set(e, EBADMSG, "'%.128s' is not a valid target name", name);
	if (!read_number(from, "part", 1, SHARDS_MAX_COUNT, &part) ||
	    !read_number(from, "parts", part, SHARDS_MAX_COUNT, &parts))
		return err_set(e, EBADMSG, "target '%.128s' has no valid part", name);
	*p = (struct round_piece){.target = xstrdup(name),
				  .us = json_get_us(from, "cpu_seconds"),
				  .part = (unsigned)part - 1,
				  .parts = (unsigned)parts};
	return 0;
}

static int read_share(const json_t *from, struct round_share *s, struct err *e)
{
	const json_t *targets = json_object_get(from, "targets");
	size_t n = json_array_size(targets);
	int r = 0;

	if (!json_is_array(targets) || n > SHARDS_TARGETS_MAX)
		return err_set(e, EBADMSG, "it has no valid list of targets");
	s->v = xcalloc(n + 1, sizeof(*s->v));
	s->edges = json_number_value(json_object_get(from, "edges_expected"));
	s->memory = json_get_u64(from, "memory_bytes");
	for (; r == 0 && s->n < n; s->n += r == 0) {
		r = read_piece(json_array_get(targets, s->n), &s->v[s->n], e);
		s->us += s->v[s->n].us;
	}
	return r;
}

static int read_head(const json_t *j, struct round_plan *p, struct err *e)
{
	const json_t *shares = json_object_get(j, "shares");
	uint64_t shards, workers;

	if (json_integer_value(json_object_get(j, "v")) != VERSION)
		return err_set(e, EBADMSG, "it is no plan of version %d (fuzzcell plan --json)",
			       VERSION);
	p->time_us = json_get_us(j, "seconds");
	if (!read_number(j, "round", 1, ROUND_MAX, &p->round) ||
	    !read_number(j, "shards", 1, SHARDS_MAX_COUNT, &shards) ||
	    !read_number(j, "workers", 1, ROUND_WORKERS_MAX, &workers) ||
	    p->time_us < ROUND_TIME_MIN_US || p->time_us > ROUND_TIME_MAX_US ||
	    json_array_size(shares) != shards)
		return err_set(e, EBADMSG, "it lacks a valid round, shards, workers or seconds");
	p->workers = (unsigned)workers;
	p->v = xcalloc((size_t)shards, sizeof(*p->v));
	p->shards = (unsigned)shards;
	return 0;
}

int round_plan_read(json_t *j, struct round_plan *ret, struct err *e)
{
	struct round_plan p = {0};
	int r = read_head(j, &p, e);

	for (unsigned i = 0; r == 0 && i < p.shards; i++) {
		r = read_share(json_array_get(json_object_get(j, "shares"), i), &p.v[i], e);
		if (r < 0)
			r = err_wrap(e, "shard %u", i + 1);
	}
	if (r == 0)
		r = identify(j, p.id, e);
	if (r == 0 && strcmp(p.id, json_get_text(j, "id")) != 0)
		r = err_set(e, EBADMSG, "it was changed: its content has the id %s, not '%.16s'",
			    p.id, json_get_text(j, "id"));
	if (r < 0) {
		round_plan_done(&p);
		return r;
	}
	*ret = p;
	return 0;
}

int round_plan_load(const char *path, struct round_plan *ret, struct err *e)
{
	_autojson_ json_t *j = NULL;
	int r = json_load(AT_FDCWD, path, ROUND_PLAN_MAX, &j, e);

	return r < 0 ? r : round_plan_read(j, ret, e);
}

/* --- which shard ------------------------------------------------------------------ */

bool round_shard_parse(const char *text, unsigned *ret_i, unsigned *ret_n)
{
	struct slice in = slice_of(text);
	uint64_t i, n;

	if (!scan_u64(&in, 10, SHARDS_MAX_COUNT, &i) || in.n == 0 || in.p[0] != '/')
		return false;
	in.p++;
	in.n--;
	if (!scan_u64(&in, 10, SHARDS_MAX_COUNT, &n) || in.n > 0 || i < 1 || i > n)
		return false;
	*ret_i = (unsigned)i;
	*ret_n = (unsigned)n;
	return true;
}

static const char *set_in_environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* first: the number of the first shard. */
static bool engine_number(const char *text, uint64_t first, unsigned n, unsigned *ret)
{
	struct slice in = slice_of(text);
	uint64_t i;

	if (!scan_u64(&in, 10, SHARDS_MAX_COUNT, &i) || in.n > 0 || i < first || i - first >= n)
		return false;
	*ret = (unsigned)(i - first) + 1;
	return true;
}

int round_shard_of_engine(unsigned n, unsigned *ret, struct err *e)
{
	static const struct {
		const char *name;
		uint64_t first;
	} engines[] = {{"SLURM_ARRAY_TASK_ID", 1}, {"JOB_COMPLETION_INDEX", 0}};
	const char *text = set_in_environment("FUZZCELL_SHARD");
	unsigned of;

	if (text && round_shard_parse(text, ret, &of) && of == n)
		return 0;
	if (text)
		return err_set(e, EINVAL, "FUZZCELL_SHARD: '%.40s' is not a shard i/%u of the plan",
			       text, n);
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		text = set_in_environment(engines[i].name);
		if (text && engine_number(text, engines[i].first, n, ret))
			return 0;
		if (text)
			return err_set(e, EINVAL, "%s: '%.40s' is not in the plan's %llu to %llu",
				       engines[i].name, text, (unsigned long long)engines[i].first,
				       (unsigned long long)(engines[i].first + n - 1));
	}
	return err_set(e, ENOENT,
		       "no shard: give --shard i/%u, or set FUZZCELL_SHARD=i/%u, "
		       "SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX",
		       n, n);
}
