/* SPDX-License-Identifier: Apache-2.0 */
/* The side files of a target: seeds, dictionary, options. */
#include "base/memory.h"
#include "runner/targets/directory.h"

#include "base/cleanup.h"

#include <string.h>

/* Number of orphans that get a "did you mean".  The time of these guesses is proportional to
 * orphans times targets. */
enum { GUESSES_MAX = 64 };

static int sides_by_name(const void *key, const void *side)
{
	const struct side *s = side;

	return strcmp(key, s->name);
}

static struct side *find_side(struct scan *s, const char *name)
{
	if (s->n_sides == 0)
		return NULL;
	return bsearch(name, s->sides, s->n_sides, sizeof(*s->sides), sides_by_name);
}

/* Finds the side file target+suffix.  *ret_side NULL: no such file.  f->fd -1: the file is not
 * usable, and a note says why. */
static int sides_find(struct scan *s, const char *target, const char *suffix, bool dir,
		      struct side **ret_side, struct found *f, struct err *e)
{
	_autofree_ char *name = xasprintf("%s%s", target, suffix);
	int r;

	*ret_side = find_side(s, name);
	if (!*ret_side)
		return 0;
	(*ret_side)->used = true;
	r = look(s, name, f, e);
	if (r < 0)
		return r;
	if (f->fd >= 0 && f->is_dir != dir)
		look_refuse(f, true, dir ? "not a directory" : "a directory, not a file");
	if (f->fd < 0)
		list_note(s->out, scan_place(s, name), true, "not used: %s",
			  f->why[0] ? f->why : "gone while it was read");
	return 0;
}

static int attach_archive(struct scan *s, struct target *t, struct err *e)
{
	const char *first = NULL, *suffix;

	for (size_t i = 0; (suffix = names_archive_suffix(i)); i++) {
		CLEANUP(found_done) struct found f = {.fd = -1};
		struct side *side;
		int r = sides_find(s, t->name, suffix, false, &side, &f, e);

		if (r < 0)
			return r;
		if (f.fd < 0)
			continue;
		if (t->seed_archive) {
			list_note(s->out, scan_place(s, side->name), true,
				  "a second seed archive of '%s': '%s' is used", t->name, first);
			continue;
		}
		t->seed_archive = take_ptr(&f.real);
		first = side->name;
	}
	return 0;
}

static int attach_seed_dir(struct scan *s, struct target *t, struct err *e)
{
	CLEANUP(found_done) struct found f = {.fd = -1};
	struct side *side;
	int r = sides_find(s, t->name, NAMES_SEED_DIR_SUFFIX, true, &side, &f, e);

	if (r == 0 && f.fd >= 0)
		strv_push(&t->seed_dirs, f.real);
	return r;
}

/* Attaches the dict= of an options file.  The path starts at the directory and must stay in it. */
static int attach_named_dict(struct scan *s, struct target *t, struct place at, const char *dict,
			     struct err *e)
{
	CLEANUP(found_done) struct found f = {.fd = -1};
	struct side *side;
	int r = look(s, dict, &f, e);

	if (r < 0)
		return r;
	if (f.fd >= 0 && f.is_dir)
		look_refuse(&f, true, "it is a directory");
	if (f.fd < 0) {
		list_note(s->out, at, true, "dict '%.200s' is not used: %s", dict,
			  f.why[0] ? f.why : "no such file");
		return 0;
	}
	side = find_side(s, f.real + strlen(s->real) + 1);
	if (side)
		side->used = true;
	t->dict = take_ptr(&f.real);
	return 0;
}

static int attach_options(struct scan *s, struct target *t, struct err *e)
{
	CLEANUP(optfile_done) struct optfile o = {0};
	CLEANUP(found_done) struct found f = {.fd = -1};
	struct side *side;
	int r = sides_find(s, t->name, ".options", false, &side, &f, e);

	if (r < 0 || f.fd < 0)
		return r;
	r = source_options(s->out, scan_place(s, side->name), f.fd, t->engine, &o, e);
	if (r < 0)
		return r;
	source_use_options(t, &o);
	return o.dict ? attach_named_dict(s, t, scan_place(s, side->name), o.dict, e) : 0;
}

static int attach_dict(struct scan *s, struct target *t, struct err *e)
{
	CLEANUP(found_done) struct found f = {.fd = -1};
	struct side *side;
	int r = sides_find(s, t->name, ".dict", false, &side, &f, e);

	/* A dictionary of the options file has priority. */
	if (r == 0 && f.fd >= 0 && !t->dict)
		t->dict = take_ptr(&f.real);
	return r;
}

int sides_attach(struct scan *s, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->out->n; i++) {
		struct target *t = &s->out->v[i];

		r = attach_options(s, t, e);
		if (r == 0)
			r = attach_dict(s, t, e);
		if (r == 0)
			r = attach_archive(s, t, e);
		if (r == 0)
			r = attach_seed_dir(s, t, e);
	}
	return r;
}

static void note_orphan(struct scan *s, const struct side *x, const char *near)
{
	const char *noun = x->kind == SIDE_NONE ? "seed directory" : names_side_noun(x->kind);

	list_note(s->out, scan_place(s, x->name), true, "%s without a target '%.*s'%s%s%s", noun,
		  (int)x->target.n, x->target.p, near ? ": did you mean '" : "", near ? near : "",
		  near ? "'?" : "");
}

void sides_note_orphans(struct scan *s)
{
	_autofree_ const char **targets = xcalloc(s->out->n + 1, sizeof(*targets));
	unsigned guesses = 0;

	for (size_t i = 0; i < s->out->n; i++)
		targets[i] = s->out->v[i].name;
	for (size_t i = 0; i < s->n_sides; i++) {
		const struct side *x = &s->sides[i];
		const char *near = NULL;

		if (x->used)
			continue;
		if (guesses++ < GUESSES_MAX)
			near = names_near(x->target, targets, s->out->n);
		note_orphan(s, x, near);
	}
}
