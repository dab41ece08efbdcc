/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a key in the schema, or the nearest known key to name in an error. */
#include "runner/config/schema.h"

#include <stdio.h>

/* The part of a key's name after prefix; NULL: the key is not directly inside prefix. */
static const char *tail_of(const struct key *k, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(k->name, prefix, n) != 0 || strchr(k->name + n, '.'))
		return NULL;
	return k->name + n;
}

const struct key *schema_find(const struct schema *s, const char *prefix, struct slice name)
{
	for (size_t i = 0; i < s->n; i++) {
		const char *tail = tail_of(&s->keys[i], prefix);

		if (tail && slice_eq(slice_of(tail), name))
			return &s->keys[i];
	}
	return NULL;
}

static unsigned char schema_find_folded(char c)
{
	if (c >= 'A' && c <= 'Z')
		c = (char)(c - 'A' + 'a');
	return (unsigned char)(c == '-' ? '_' : c);
}

static size_t schema_find_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* One cell of the optimal string alignment distance: insert, delete, replace,
 * swap neighbours. */
static size_t schema_find_cost(size_t d[3][SCHEMA_MAX_NAME + 1], struct slice a, struct slice b,
			       size_t i, size_t j)
{
	unsigned char x = schema_find_folded(a.p[i - 1]), y = schema_find_folded(b.p[j - 1]);
	size_t v =
	    schema_find_least(schema_find_least(d[1][j], d[2][j - 1]) + 1, d[1][j - 1] + (x != y));

	if (i > 1 && j > 1 && x == schema_find_folded(b.p[j - 2]) &&
	    y == schema_find_folded(a.p[i - 2]))
		v = schema_find_least(v, d[0][j - 2] + 1);
	return v;
}

static size_t schema_find_distance(struct slice a, struct slice b)
{
	size_t d[3][SCHEMA_MAX_NAME + 1] = {{0}}; /* the rows i-2, i-1 and i */

	for (size_t j = 0; j <= b.n; j++)
		d[2][j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		memcpy(d[0], d[1], sizeof(d[0]));
		memcpy(d[1], d[2], sizeof(d[1]));
		d[2][0] = i;
		for (size_t j = 1; j <= b.n; j++)
			d[2][j] = schema_find_cost(d, a, b, i, j);
	}
	return d[2][b.n];
}

/* The distance of two similar names, or SIZE_MAX.  Names are similar with one typo in three
 * letters, or if one is the beginning of the other ("mem" for "memory"). */
static size_t schema_find_difference(struct slice name, struct slice known)
{
	size_t limit = name.n < 6 ? 1 : name.n / 3;
	size_t d;

	if (name.n > SCHEMA_MAX_NAME || known.n > SCHEMA_MAX_NAME || name.n == 0)
		return SIZE_MAX;
	if (name.n >= 3 && known.n > name.n && memcmp(name.p, known.p, name.n) == 0)
		return 1;
	d = schema_find_distance(name, known);
	return d <= limit ? d : SIZE_MAX;
}

static const char *schema_find_nearest(const struct schema *s, const char *prefix,
				       struct slice name)
{
	size_t best = SIZE_MAX;
	const char *ret = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const char *tail = tail_of(&s->keys[i], prefix);
		size_t d = tail ? schema_find_difference(name, slice_of(tail)) : SIZE_MAX;

		if (d < best) {
			best = d;
			ret = tail;
		}
	}
	return ret;
}

/* The section of a key that was written in the wrong section; NULL: no section has the key. */
static const char *home_of(struct slice name)
{
	static const struct {
		const struct schema *schema;
		const char *prefix, *where; /* where NULL: the schema's */
	} all[] = {
	    {&schema_root, "", NULL},	 {&schema_run, "", NULL},
	    {&schema_target, "", NULL},	 {&schema_target, "plateau.", "in \"plateau\""},
	    {&schema_trigger, "", NULL}, {&schema_trigger, "quiet.", "in \"quiet\""},
	    {&schema_git, "", NULL},	 {&schema_github, "", NULL},
	    {&schema_outbox, "", NULL},	 {&schema_serve, "", NULL},
	    {&schema_bisect, "", NULL},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (schema_find(all[i].schema, all[i].prefix, name))
			return all[i].where ? all[i].where : all[i].schema->where;
	return NULL;
}

const char *schema_hint(const struct schema *s, const char *prefix, struct slice name,
			char out[SCHEMA_HINT_MAX])
{
	const char *home = home_of(name);
	const char *near = schema_find_nearest(s, prefix, name);

	out[0] = '\0';
	if (home)
		snprintf(out, SCHEMA_HINT_MAX, "it belongs %s", home);
	else if (near)
		snprintf(out, SCHEMA_HINT_MAX, "did you mean \"%s\"?", near);
	return out;
}
