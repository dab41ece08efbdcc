/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/measure/cover.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define _autoreader_ CLEANUP(control_reader_done)

void reach_done(struct reach *r)
{
	bits_done(&r->features);
	bits_done(&r->edges);
	*r = (struct reach){0};
}

/* --- the order of the choice ---------------------------------------------------- */

/* An input that ran. */
struct place {
	uint64_t size;
	uint32_t shard, input;
	uint32_t features;
};

struct order {
	const struct cover_shard *s;
};

static const struct candidate *candidate_of(const struct cover_shard *s, const struct place *p)
{
	return &s[p->shard].list->v[p->input];
}

static int cover_compare(const void *a, const void *b, void *arg)
{
	const struct place *x = a, *y = b;
	const struct order *o = arg;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	if (x->features != y->features)
		return x->features > y->features ? -1 : 1;
	return memcmp(candidate_of(o->s, x)->name, candidate_of(o->s, y)->name, STORE_NAME);
}

static size_t count_inputs(const struct cover_shard *s, size_t shards)
{
	size_t n = 0;

	for (size_t k = 0; k < shards; k++)
		n += s[k].list->n;
	return n;
}

/* A new array; free() it. */
static struct place *put_in_order(const struct cover_shard *s, size_t shards, size_t *ret_n)
{
	struct place *v = xcalloc(count_inputs(s, shards), sizeof(*v));
	struct order order = {.s = s};
	size_t n = 0;

	for (size_t k = 0; k < shards; k++) {
		const struct control_input *in = s[k].control->inputs;

		for (size_t i = 0; i < s[k].list->n; i++)
			if (in[i].state == CONTROL_RAN)
				v[n++] = (struct place){.size = s[k].list->v[i].size,
							.shard = (uint32_t)k,
							.input = (uint32_t)i,
							.features = in[i].features};
	}
	qsort_r(v, n, sizeof(*v), cover_compare, &order);
	*ret_n = n;
	return v;
}

static int check_lists(const struct cover_shard *s, size_t shards, struct err *e)
{
	for (size_t k = 0; k < shards; k++)
		if (s[k].control->n != s[k].list->n)
			return err_set(e, EINVAL, "shard %zu has another's list", k);
	return 0;
}

/* --- reached features and edges -------------------------------------------------------- */

/* Adds the input's features to the set.  Returns how many are new. */
static int add_features(const struct control *c, size_t input, struct control_reader *reader,
			struct bits *io, struct err *e)
{
	int fresh = 0;
	size_t n;
	int r = control_features(c, input, reader, &n, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		fresh += bits_add(io, reader->v[i]);
	return fresh;
}

static void add_edges(const struct cover_shard *s, size_t shards, struct reach *io)
{
	for (size_t k = 0; k < shards; k++) {
		const struct control *c = s[k].control;

		bits_add_all(&io->edges, &c->edges);
		for (size_t i = 0; i < c->n; i++) {
			/* The last input that failed, with no later input started. */
			bool died = c->started && i == c->next;

			io->ran += c->inputs[i].state == CONTROL_RAN;
			io->failed += c->inputs[i].state == CONTROL_FAILED || died;
			io->waiting += c->inputs[i].state == CONTROL_WAITS && !died;
		}
	}
}

int cover_reach(const struct cover_shard *s, size_t shards, struct reach *io, struct err *e)
{
	_autoreader_ struct control_reader reader = {0};
	int r = check_lists(s, shards, e);

	if (r < 0)
		return r;
	add_edges(s, shards, io);
	for (size_t k = 0; r >= 0 && k < shards; k++)
		for (size_t i = 0; r >= 0 && i < s[k].control->n; i++)
			r = add_features(s[k].control, i, &reader, &io->features, e);
	return r < 0 ? r : 0;
}

static int choose(const struct cover_shard *s, const struct place *v, size_t n,
		  struct candidates *to, struct bits *covered, struct err *e)
{
	_autoreader_ struct control_reader reader = {0};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		const struct candidate *c = candidate_of(s, &v[i]);

		r = add_features(s[v[i].shard].control, v[i].input, &reader, covered, e);
		if (r > 0)
			r = candidates_add(to, c->name, c->size, e);
	}
	return r < 0 ? r : 0;
}

int cover_choose(const struct cover_shard *s, size_t shards, struct candidates *ret,
		 struct reach *io, struct err *e)
{
	_autocandidates_ struct candidates chosen = {0};
	_autofree_ struct place *v = NULL;
	size_t n = 0;
	int r = check_lists(s, shards, e);

	if (r < 0)
		return r;
	add_edges(s, shards, io);
	v = put_in_order(s, shards, &n);
	r = choose(s, v, n, &chosen, &io->features, e);
	if (r < 0)
		return r;
	candidates_sort(&chosen);
	*ret = chosen;
	chosen = (struct candidates){0};
	return 0;
}

/* --- the fewest -------------------------------------------------------------------- */

struct taking {
	const struct cover_shard *s;
	/* place.features: an upper bound of the features that are not covered yet */
	struct place *left, *taken;
	size_t n_left, n_taken;
	struct bits covered; /* by the taken inputs */
};

static void taking_done(struct taking *t)
{
	free(t->left);
	free(t->taken);
	bits_done(&t->covered);
}

/* Inputs that may bring most features come first. */
static int by_promise(const void *a, const void *b, void *arg)
{
	const struct place *x = a, *y = b;

	if (x->features != y->features)
		return x->features > y->features ? -1 : 1;
	return cover_compare(a, b, arg);
}

static uint32_t count_new(const struct bits *covered, const uint32_t *v, size_t n)
{
	uint32_t fresh = 0;

	for (size_t i = 0; i < n; i++)
		fresh += !bits_has(covered, v[i]);
	return fresh;
}

/* Takes the input if it brings at least `least` features. */
static int take_one(struct taking *t, struct place *p, uint32_t least,
		    struct control_reader *reader, struct err *e)
{
	size_t n;
	int r = control_features(t->s[p->shard].control, p->input, reader, &n, e);

	if (r < 0)
		return r;
	p->features = count_new(&t->covered, reader->v, n);
	if (p->features < least)
		return 0;
	for (size_t i = 0; i < n; i++)
		bits_add(&t->covered, reader->v[i]);
	t->taken[t->n_taken++] = *p;
	p->features = 0;
	return 0;
}

static int take_round(struct taking *t, uint32_t least, struct err *e)
{
	_autoreader_ struct control_reader reader = {0};
	struct order order = {.s = t->s};
	size_t kept = 0;

	qsort_r(t->left, t->n_left, sizeof(*t->left), by_promise, &order);
	for (size_t i = 0; i < t->n_left; i++) {
		struct place p = t->left[i];
		int r = p.features < least ? 0 : take_one(t, &p, least, &reader, e);

		if (r < 0)
			return r;
		if (p.features > 0)
			t->left[kept++] = p;
	}
	t->n_left = kept;
	return 0;
}

/* Lists the inputs that may be taken: they ran, are in `of`, and reach something. */
static void begin_taking(struct taking *t, size_t shards, const struct candidates *of)
{
	size_t n;

	t->left = put_in_order(t->s, shards, &n);
	for (size_t i = 0; i < n; i++) {
		const struct candidate *c = candidate_of(t->s, &t->left[i]);

		if (t->left[i].features > 0 && candidates_find(of, c->name, c->size))
			t->left[t->n_left++] = t->left[i];
	}
	t->taken = xcalloc(t->n_left, sizeof(*t->taken));
}

/* The inputs that were taken last are checked first: they have features that no other input has. */
static void reverse(struct place *v, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct place p = v[i];

		v[i] = v[n - 1 - i];
		v[n - 1 - i] = p;
	}
}

int cover_fewest(const struct cover_shard *s, size_t shards, const struct candidates *of,
		 struct candidates *ret, struct err *e)
{
	CLEANUP(taking_done) struct taking t = {.s = s};
	_autocandidates_ struct candidates fewest = {0};
	_autobits_ struct bits again = {0};
	uint32_t least = CONTROL_FEATURES_MAX;
	int r = check_lists(s, shards, e);

	if (r < 0)
		return r;
	begin_taking(&t, shards, of);
	for (; r == 0 && least > 0; least /= 2)
		r = take_round(&t, least, e);
	if (r < 0)
		return r;
	reverse(t.taken, t.n_taken);
	r = choose(s, t.taken, t.n_taken, &fewest, &again, e);
	if (r < 0)
		return r;
	candidates_sort(&fewest);
	*ret = fewest;
	fewest = (struct candidates){0};
	return 0;
}

/* --- missing features and edges ---------------------------------------------------------- */

struct cover_gap cover_gap(const struct reach *all, const struct reach *got)
{
	return (struct cover_gap){.features = bits_missing(&all->features, &got->features),
				  .edges = bits_missing(&all->edges, &got->edges)};
}

struct missing {
	struct bits features, edges;
};

static void missing_done(struct missing *m)
{
	bits_done(&m->features);
	bits_done(&m->edges);
}

static void find_missing(const struct reach *all, const struct reach *got, struct missing *ret)
{
	bits_add_all(&ret->features, &all->features);
	bits_add_all(&ret->edges, &all->edges);
	bits_remove_all(&ret->features, &got->features);
	bits_remove_all(&ret->edges, &got->edges);
}

/* Removes the input's numbers from the missing ones.  Returns how many it had. */
static int take_from(const struct control *c, size_t input, struct control_reader *reader,
		     struct missing *m, struct err *e)
{
	int taken = 0;
	size_t n;
	int r = control_features(c, input, reader, &n, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		taken += bits_remove(&m->features, reader->v[i]);
	r = control_edges(c, input, reader, &n, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		taken += bits_remove(&m->edges, reader->v[i]);
	return taken;
}

static int top_up(const struct cover_shard *s, const struct place *v, size_t n,
		  const struct candidates *have, struct missing *m, struct candidates *more,
		  struct err *e)
{
	_autoreader_ struct control_reader reader = {0};

	for (size_t i = 0; i < n && m->features.count + m->edges.count > 0; i++) {
		const struct candidate *c = candidate_of(s, &v[i]);
		int r;

		if (candidates_find(have, c->name, c->size))
			continue;
		r = take_from(s[v[i].shard].control, v[i].input, &reader, m, e);
		if (r > 0)
			r = candidates_add(more, c->name, c->size, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int cover_append(struct candidates *to, const struct candidates *more, struct err *e)
{
	for (size_t i = 0; i < more->n; i++) {
		int r = candidates_add(to, more->v[i].name, more->v[i].size, e);

		if (r < 0)
			return r;
	}
	candidates_sort(to);
	return 0;
}

int cover_top_up(const struct cover_shard *s, size_t shards, const struct reach *all,
		 const struct reach *got, struct candidates *io, size_t *ret_added,
		 struct cover_gap *gap, struct err *e)
{
	CLEANUP(missing_done) struct missing m = {0};
	_autocandidates_ struct candidates more = {0};
	_autofree_ struct place *v = NULL;
	size_t n = 0;
	int r = check_lists(s, shards, e);

	if (r < 0)
		return r;
	find_missing(all, got, &m);
	v = put_in_order(s, shards, &n);
	*gap = (struct cover_gap){.features = m.features.count, .edges = m.edges.count};
	r = top_up(s, v, n, io, &m, &more, e);
	if (r == 0)
		r = cover_append(io, &more, e);
	if (r < 0)
		return r;
	gap->lost_features = m.features.count;
	gap->lost_edges = m.edges.count;
	*ret_added = more.n;
	return 0;
}
