/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/config/layers.h"

#include "runner/config/value.h"

#include <assert.h>
#include <stdio.h>

void layer_presets(const struct schema *s, void *base)
{
	const struct input input = {"built-in", "/"};
	const struct where at = {.input = &input};
	struct err e;

	for (size_t i = 0; i < s->n; i++) {
		const struct key *k = &s->keys[i];
		bool ok = !k->preset || value_read_text(k, k->preset, &at, base, &e) == 0;

		assert(ok);
		(void)ok;
	}
}

void layer_done(const struct schema *s, void *base)
{
	for (size_t i = 0; i < s->n; i++)
		value_done(&s->keys[i], base);
}

static int layers_unknown(const struct layer *l, const char *prefix, const char *name,
			  struct where *at, struct err *e)
{
	char hint[SCHEMA_HINT_MAX];

	schema_hint(l->schema, prefix, slice_of(name), hint);
	at->quoted = strchr(name, '.') != NULL; /* "plateau.cap" is not plateau.cap */
	return where_fail(at, e, "unknown key%s%s%s", *hint ? " (" : "", hint, *hint ? ")" : "");
}

static int layer_members(const struct layer *l, const char *prefix, json_t *object, uint32_t id,
			 const struct where *at, struct err *e);

static void layers_note(const struct layer *l, const struct key *k, const struct where *at)
{
	struct origin *o = &l->from[k - l->schema->keys];

	*o = l->origin;
	o->line = at->line;
}

static int layers_store(const struct layer *l, const struct key *k, json_t *v, uint32_t id,
			const struct where *at, struct err *e)
{
	int r = value_read(k, v, at, &l->c->places, id, l->base, e);

	if (r == 0)
		layers_note(l, k, at);
	return r;
}

/* {"rule": ..., "window": ...}; a string is a rule alone, and false is the rule "none". */
static int layers_plateau(const struct layer *l, json_t *v, uint32_t id, const struct where *at,
			  struct err *e)
{
	const struct key *rule = schema_find(l->schema, "plateau.", SLICE("rule"));

	if (json_is_object(v))
		return layer_members(l, "plateau.", v, id, at, e);
	if (json_is_string(v))
		return layers_store(l, rule, v, id, at, e);
	if (!json_is_false(v))
		return where_fail(at, e,
				  "neither a rule in quotes, nor false, nor an object such as "
				  "{\"window\": \"10m\"}");
	*(enum plateau_rule *)((char *)l->base + rule->offset) = PLATEAU_NONE;
	layers_note(l, rule, at);
	return 0;
}

static int layers_member(const struct layer *l, const char *prefix, const char *name, json_t *v,
			 uint32_t id, const struct where *up, struct err *e)
{
	const struct key *k = schema_find(l->schema, prefix, slice_of(name));
	struct where at = {
	    .up = up, .input = up->input, .key = name, .line = places_line(&l->c->places, id)};

	if (!k)
		return layers_unknown(l, prefix, name, &at, e);
	if (k->type != VALUE_SECTION)
		return layers_store(l, k, v, id, &at, e);
	if (l->schema == &schema_trigger)
		return layer_members(l, "quiet.", v, id, &at, e);
	return l->schema == &schema_target ? layers_plateau(l, v, id, &at, e) : 0;
}

static int layer_members(const struct layer *l, const char *prefix, json_t *object, uint32_t id,
			 const struct where *at, struct err *e)
{
	uint32_t child = places_child(id);
	void *i;

	if (!json_is_object(object))
		return where_fail(at, e, "not an object: write {\"key\": value, ...}");
	for (i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
		int r = layers_member(l, prefix, json_object_iter_key(i), json_object_iter_value(i),
				      child, at, e);

		if (r < 0)
			return r;
		child = places_next(&l->c->places, child);
	}
	return 0;
}

int layer_object(const struct layer *l, json_t *values, uint32_t id, const struct where *at,
		 struct err *e)
{
	int r = layer_members(l, "", values, id, at, e);

	for (size_t i = 0; r == 0 && i < l->schema->n; i++)
		if ((l->schema->keys[i].flags & KEY_REQUIRED) && l->from[i].rank == 0)
			r = where_fail(at, e, "\"%s\" is missing", l->schema->keys[i].name);
	return r;
}

/* --- places ---------------------------------------------------------------- */

static const struct where *layers_chain(const struct input *input, const char *section, bool glob,
					uint32_t line, struct where_chain *w)
{
	w->top = (struct where){.input = input, .line = line};
	w->targets = (struct where){.up = &w->top, .input = input, .key = "targets", .line = line};
	w->section = (struct where){.up = glob ? &w->targets : &w->top,
				    .input = input,
				    .key = section,
				    .quoted = glob,
				    .line = line};
	return glob || *section ? &w->section : &w->top;
}

const struct where *section_where(const struct config *c, const struct section *s,
				  struct where_chain *w)
{
	return layers_chain(&c->file, s->name, s->glob, places_line(&c->places, s->id), w);
}

const struct where *origin_where(const struct config *c, const struct origin *o, const char *key,
				 struct where_chain *w)
{
	const struct input *input = o->rank == RANK_COMMAND_LINE ? &c->command_line : &c->file;

	w->key = (struct where){.up = layers_chain(input, o->section, o->glob, o->line, w),
				.input = input,
				.key = key,
				.line = o->line};
	return &w->key;
}

const char *origin_text(const struct config *c, const struct origin *o, char out[ORIGIN_MAX])
{
	char place[WHERE_PLACE_MAX], path[WHERE_PATH_MAX];
	struct where_chain w;
	const struct where *at;

	if (o->derived || o->rank == 0 || o->rank == RANK_COMMAND_LINE) {
		snprintf(out, ORIGIN_MAX, "%s",
			 o->derived	? "derived from memory"
			 : o->rank == 0 ? "built-in"
					: "command line");
		return out;
	}
	at = layers_chain(&c->file, o->section, o->glob, o->line, &w);
	where_path(at, path);
	snprintf(out, ORIGIN_MAX, "%s%s%s", where_place(at, place), *path ? " " : "", path);
	return out;
}
