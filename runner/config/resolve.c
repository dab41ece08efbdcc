/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves the configuration of one target: defaults, then sections, then the command line. */
#include "runner/config/layers.h"
#include "runner/config/value.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdio.h>

#define MIB (UINT64_C(1) << 20)

enum { SCRATCH_AUTO_MIB = 256 };

/* --- contradictions -------------------------------------------------------- */

static struct origin *resolve_from_of(struct resolved *r, const char *key)
{
	size_t i = 0;

	while (i + 1 < schema_target.n && strcmp(schema_target.keys[i].name, key) != 0)
		i++;
	assert(strcmp(schema_target.keys[i].name, key) == 0);
	return &r->from[i];
}

struct pair {
	const char *key;
	enum value_type type;
	uint64_t value;
};

/* Reports the value of the later layer as the mistake: the earlier value was valid by itself. */
static int resolve_contradiction(const struct config *c, struct resolved *r, struct pair a,
				 struct pair b, const char *rule, struct err *e)
{
	char origin[ORIGIN_MAX], va[VALUE_TEXT_MAX], vb[VALUE_TEXT_MAX];
	struct where_chain w;

	if (resolve_from_of(r, a.key)->rank < resolve_from_of(r, b.key)->rank) {
		struct pair t = a;

		a = b;
		b = t;
	}
	return where_fail(origin_where(c, resolve_from_of(r, a.key), a.key, &w), e,
			  "%s contradicts %s %s (%s): %s",
			  value_number(a.type, (int64_t)a.value, va), b.key,
			  value_number(b.type, (int64_t)b.value, vb),
			  origin_text(c, resolve_from_of(r, b.key), origin), rule);
}

static int resolve_check_memory(const struct config *c, struct resolved *r, struct err *e)
{
	const struct target_config *v = &r->v;
	struct pair memory = {"memory", VALUE_SIZE, v->memory};
	char most[VALUE_TEXT_MAX], rule[VALUE_TEXT_MAX + 64];

	snprintf(rule, sizeof(rule), "rss_limit may be 7/8 of memory at most, here %s",
		 value_number(VALUE_SIZE, (int64_t)v->memory_high, most));
	if (v->rss_limit > v->memory_high)
		return resolve_contradiction(
		    c, r, (struct pair){"rss_limit", VALUE_SIZE, v->rss_limit}, memory, rule, e);
	if (v->scratch >= v->memory)
		return resolve_contradiction(
		    c, r, (struct pair){"scratch", VALUE_SIZE, v->scratch}, memory,
		    "scratch is counted in memory and must be below it", e);
	return 0;
}

static int resolve_check(const struct config *c, struct resolved *r, struct err *e)
{
	const struct target_config *v = &r->v;

	bool silence = v->plateau.rule == PLATEAU_CPU_SILENCE || v->plateau.rule == PLATEAU_WALL;

	if (silence && v->plateau.cap_us && v->plateau.cap_us < v->plateau.window_us)
		return resolve_contradiction(
		    c, r, (struct pair){"plateau.cap", VALUE_TIME, v->plateau.cap_us},
		    (struct pair){"plateau.window", VALUE_TIME, v->plateau.window_us},
		    "the cap would come before any window is over", e);
	return resolve_check_memory(c, r, e);
}

/* rss_limit leaves room below the hard limit: the engine checks its own limit only once a second,
 * and then writes the input.  memory.high throttles the cell in that range. */
static void resolve_derive(struct resolved *r)
{
	struct target_config *v = &r->v;

	v->memory_high = v->memory / 8 * 7 / MIB * MIB;
	resolve_from_of(r, "memory_high")->derived = true;
	if (v->rss_limit == 0) {
		v->rss_limit = v->memory / 4 * 3 / MIB * MIB;
		resolve_from_of(r, "rss_limit")->derived = true;
	}
	if (v->scratch == 0) {
		v->scratch = v->memory / 4 / MIB * MIB;
		if (v->scratch > SCRATCH_AUTO_MIB * MIB)
			v->scratch = SCRATCH_AUTO_MIB * MIB;
		resolve_from_of(r, "scratch")->derived = true;
	}
}

/* --- layers ---------------------------------------------------------------- */

bool section_matches(const struct section *s, const void *arg)
{
	const struct config_target *t = arg;

	return t && t->name &&
	       (fnmatch(s->name, t->name, 0) == 0 || (t->of && fnmatch(s->name, t->of, 0) == 0));
}

/* A sanitizer needs more memory than the configured limit, which is for the main build. */
static void resolve_scale_memory(const struct config_target *t, struct resolved *r)
{
	struct origin *from = resolve_from_of(r, "memory");

	if (!t || !t->of || t->memory_milli == 0 || t->memory_milli == 1000 ||
	    (from->glob && fnmatch(from->section, t->of, 0) != 0))
		return;
	r->v.memory = r->v.memory / 1000 * t->memory_milli / MIB * MIB;
	from->derived = true;
}

static int lay_section(const struct config *c, const struct section *s, struct resolved *r,
		       struct err *e)
{
	struct layer l = {
	    .c = c,
	    .schema = &schema_target,
	    .origin = {.rank = s->rank, .section = s->name, .glob = s->glob},
	    .base = &r->v,
	    .from = r->from,
	};
	struct where_chain w;

	return layer_object(&l, s->values, s->id, section_where(c, s, &w), e);
}

static int lay_override(const struct config *c, const struct override *o, struct resolved *r,
			struct err *e)
{
	struct origin from = {.rank = RANK_COMMAND_LINE, .section = "defaults"};
	struct where_chain w;
	const struct where *at = origin_where(c, &from, o->key->name, &w);
	int n = value_read_text(o->key, o->text, at, &r->v, e);

	if (n == 0)
		r->from[o->key - schema_target.keys] = from;
	return n;
}

static int lay_all(const struct config *c, wanted_fn *wanted, const void *arg,
		   const struct config_target *t, struct resolved *r, struct err *e)
{
	int n = 0;

	layer_presets(&schema_target, &r->v);
	for (size_t i = 0; n == 0 && i < c->n_sections; i++)
		if (!c->sections[i].glob || wanted(&c->sections[i], arg))
			n = lay_section(c, &c->sections[i], r, e);
	for (size_t i = 0; n == 0 && i < c->n_overrides; i++)
		n = lay_override(c, &c->overrides[i], r, e);
	if (n < 0)
		return n;
	resolve_scale_memory(t, r);
	resolve_derive(r);
	return resolve_check(c, r, e);
}

int resolve(const struct config *c, wanted_fn *wanted, const void *arg,
	    const struct config_target *t, struct resolved *ret, struct err *e)
{
	struct resolved r = {0};
	int n = lay_all(c, wanted, arg, t, &r, e);

	if (n < 0)
		target_config_done(&r.v);
	else
		*ret = r;
	return n;
}

void target_config_done(struct target_config *c)
{
	layer_done(&schema_target, c);
}

int config_resolve(const struct config *c, const struct config_target *t, struct target_config *ret,
		   struct err *e)
{
	struct resolved r;
	int n = resolve(c, section_matches, t, t, &r, e);

	if (n == 0)
		*ret = r.v;
	return n;
}

bool config_sets(const struct config *c, const struct config_target *t, const char *key)
{
	struct resolved r;
	struct err e;
	bool set;

	if (resolve(c, section_matches, t, t, &r, &e) < 0)
		return false;
	set = resolve_from_of(&r, key)->rank > 0 && !resolve_from_of(&r, key)->derived;
	target_config_done(&r.v);
	return set;
}

/* --- for users ------------------------------------------------------------- */

static void explain_schema(const struct config *c, const struct schema *s, const char *prefix,
			   const void *base, const struct origin *from, json_t *io)
{
	char origin[ORIGIN_MAX], name[2 * SCHEMA_MAX_NAME];

	for (size_t i = 0; i < s->n; i++) {
		if (s->keys[i].type == VALUE_SECTION)
			continue;
		snprintf(name, sizeof(name), "%s%s", prefix, s->keys[i].name);
		(void)json_object_set_new(io, name,
					  json_pack("{s:o, s:o}", "value",
						    value_show(&s->keys[i], base), "from",
						    value_text(origin_text(c, &from[i], origin))));
	}
}

int config_explain(const struct config *c, const struct config_target *t, json_t **ret,
		   struct err *e)
{
	char prefix[SCHEMA_MAX_NAME];
	struct resolved r;
	json_t *j;
	int n = resolve(c, section_matches, t, t, &r, e);

	if (n < 0)
		return n;
	j = json_object();
	explain_schema(c, &schema_target, "", &r.v, r.from, j);
	explain_schema(c, &schema_root, "", &c->top, c->top_from, j);
	for (size_t i = 0; i < PART_COUNT; i++) {
		const struct part *p = &config_parts[i];

		snprintf(prefix, sizeof(prefix), "%s.", p->name);
		explain_schema(c, p->schema, prefix, part_values(c, p), c->part_from[i], j);
	}
	target_config_done(&r.v);
	*ret = j;
	return 0;
}
