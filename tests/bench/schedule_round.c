/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/schedule_round.h"

#include "base/memory.h"
#include "runner/state/slices.h"

#include <stdlib.h>
#include <string.h>

#define US   1e6
#define LATE ROUND_STEP_S

static const char build_id[DIGEST_SHA1_HEX] = "da39a3ee5e6b4b0d3255bfef95601890afd80709";

/* --- what is collected ------------------------------------------------------- */

void collected_world_begin(struct collected_world *c, const struct world *w)
{
	*c = (struct collected_world){.world = w, .v = room_for(w->n, sizeof(*c->v))};
	for (size_t i = 0; i < w->n; i++) {
		c->v[i].found = room_for(w->v[i].edges.n, sizeof(bool));
		c->v[i].slices = json_array();
		memcpy(c->v[i].progress.build.id, build_id, sizeof(build_id));
	}
}

void collected_world_done(struct collected_world *c)
{
	for (size_t i = 0; i < c->world->n; i++) {
		free(c->v[i].found);
		json_decref(c->v[i].slices);
	}
	free(c->v);
}

void collected_world_outlook(const struct collected_world *c, const struct rule *rule,
			     struct shards_target *ret)
{
	for (size_t i = 0; i < c->world->n; i++) {
		const struct progress *p = &c->v[i].progress;
		struct rule_terms t = rule_terms(rule, &p->curve, p->edges_total);

		ret[i] = (struct shards_target){.name = c->world->v[i].name,
						.found = t.found,
						.age_s = t.age_s,
						.gate = t.gate,
						.build_age_s = t.build_age_s,
						.had_s = (double)p->curve.build_us / US,
						.weight = share_weight(&p->health, 0)};
	}
}

static int by_at(const void *x, const void *y)
{
	uint64_t a = json_get_u64(*(json_t *const *)x, "at_us");
	uint64_t b = json_get_u64(*(json_t *const *)y, "at_us");

	return (a > b) - (a < b);
}

/* Folds the round's slices, in order of time, into the progress. */
static void learn(struct held *h)
{
	size_t n = json_array_size(h->slices);
	json_t **v = room_for(n, sizeof(json_t *)), *sorted = json_array();

	for (size_t i = 0; i < n; i++)
		v[i] = json_array_get(h->slices, i);
	if (n > 1)
		qsort(v, n, sizeof(json_t *), by_at);
	for (size_t i = 0; i < n; i++)
		(void)json_array_append(sorted, v[i]);
	if (!slices_fold(sorted, &h->progress))
		abort();
	json_decref(sorted);
	json_array_clear(h->slices);
	free(v);
}

/* --- luck -------------------------------------------------------------------- */

enum { STEPS_MAX = WORLD_GATES_MAX * WORLD_STEPS_MAX };

/* What a fuzzer of a target will find, by its own clock. */
struct luck {
	size_t target;
	struct find {
		double at;
		uint32_t species;
	} * v;
	size_t n, given;
	double steps[STEPS_MAX]; /* when the steps of gates come that are not passed yet */
	unsigned first, end;	 /* these steps, from all of the target */
};

/* opens: of gate 0 and of each gate. */
static void draw_gates(struct luck *l, const struct world_target *t, struct chance *c,
		       double *opens)
{
	unsigned step = 0;
	double at = 0;

	opens[0] = 0;
	for (unsigned g = 0; g < t->n_gates; g++) {
		for (unsigned k = 0; k < t->gates[g].steps; k++, step++) {
			if (step >= l->first)
				at +=
				    chance_exponential(c) * t->gates[g].mean_s / t->gates[g].steps;
			l->steps[step] = at;
		}
		opens[g + 1] = at;
	}
	l->end = step;
}

static int by_find(const void *x, const void *y)
{
	const struct find *a = x, *b = y;

	return (a->at > b->at) - (a->at < b->at);
}

/* Finds after `until` are of no interest. */
static void draw(struct luck *l, const struct world_target *t, const struct held *h, double until,
		 struct chance *c)
{
	double opens[WORLD_GATES_MAX + 1];

	l->first = h->steps;
	draw_gates(l, t, c, opens);
	l->v = room_for(t->edges.n, sizeof(*l->v));
	for (uint32_t i = 0; i < t->edges.n; i++) {
		const struct world_species *s = &t->species[i];
		double at = opens[s->gate];

		if (h->found[i] || at > until)
			continue;
		at += chance_exponential(c) * (double)s->mean_s;
		if (at <= until)
			l->v[l->n++] = (struct find){at, i};
	}
	qsort(l->v, l->n, sizeof(*l->v), by_find);
	l->v = xreallocarray(l->v, l->n + 1, sizeof(*l->v)); /* few are left of a huge world */
}

static struct times times_of(const struct luck *l)
{
	struct times t = {.v = room_for(l->n, sizeof(double)), .n = l->n};

	for (size_t i = 0; i < l->n; i++)
		t.v[i] = l->v[i].at;
	return t;
}

/* --- a shard ----------------------------------------------------------------- */

struct node {
	struct world world; /* its targets, as it finds them */
	struct luck *luck;
	struct sim sim;
	uint64_t begins_s, dies_s; /* of the round; dies_s: UINT64_MAX if it does not */
};

static size_t edges_held(const struct held *h, const struct world_target *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->edges.n; i++)
		n += h->found[i];
	return n;
}

static void join(struct node *n, size_t i, const struct shards_piece *p, const struct held *h)
{
	struct fleet_target *t = &n->sim.fleet.v[i];

	if (p->parts > 1)
		t->rule.cap_us = (uint64_t)(p->seconds * US);
	if (h->progress.curve.build_us == 0)
		return;
	fleet_recall(t, &h->progress.curve, &h->progress.health, &h->progress.strategies,
		     h->progress.edges_total);
	(void)fleet_seeded(t, n->world.v[i].corpus);
}

static void node_begin(struct node *n, const struct round *r, const struct shards_one *share,
		       const struct collected_world *c, uint64_t seed)
{
	struct sim_load load = {.times = 1};
	struct chance chance;

	chance_seed(&chance, seed);
	*n = (struct node){.dies_s = UINT64_MAX};
	if (chance_uniform(&chance) < r->trouble.dies)
		n->dies_s = (uint64_t)(chance_uniform(&chance) * (double)r->policy->run_s);
	if (chance_uniform(&chance) < r->trouble.slow) {
		n->begins_s = LATE;
		load.times = 2;
	}
	n->world = (struct world){.v = room_for(share->n, sizeof(*n->world.v)), .n = share->n};
	n->luck = room_for(share->n, sizeof(*n->luck));
	for (size_t i = 0; i < share->n; i++) {
		size_t target = share->v[i].target;
		const struct world_target *t = &c->world->v[target];

		n->luck[i].target = target;
		draw(&n->luck[i], t, &c->v[target], (double)r->policy->run_s, &chance);
		n->world.v[i] = *t;
		n->world.v[i].corpus = edges_held(&c->v[target], t);
		n->world.v[i].edges = times_of(&n->luck[i]);
		n->world.v[i].bugs = (struct times){0};
	}
	sim_begin(&n->sim, &n->world, r->policy, r->workers, load, seed);
	for (size_t i = 0; i < share->n; i++)
		join(n, i, &share->v[i], &c->v[share->v[i].target]);
}

static void node_run(struct node *n, const struct round *r, uint64_t from_s, uint64_t to_s)
{
	for (uint64_t s = from_s; s < to_s && s < n->dies_s; s++)
		if (s >= n->begins_s && s - n->begins_s < r->policy->run_s && !n->sim.over)
			sim_second(&n->sim);
}

static void give_one(struct luck *l, double until, struct collected_world *io)
{
	struct held *h = &io->v[l->target];

	for (; l->given < l->n && l->v[l->given].at <= until; l->given++) {
		bool *found = &h->found[l->v[l->given].species];

		io->given++;
		io->twice += *found;
		io->edges += !*found;
		*found = true;
	}
	while (h->steps < l->end && h->steps >= l->first && l->steps[h->steps] <= until)
		h->steps++;
}

static void node_give(struct node *n, uint64_t now_s, struct collected_world *io)
{
	for (size_t i = 0; now_s <= n->dies_s && i < n->world.n; i++)
		give_one(&n->luck[i], n->sim.cells[i].fuzzed_s, io);
}

static void node_end(struct node *n, uint64_t now_s, struct collected_world *io)
{
	for (size_t i = 0; i < n->world.n; i++) {
		const struct fleet_target *t = &n->sim.fleet.v[i];
		struct held *h = &io->v[n->luck[i].target];
		struct progress now = h->progress;
		json_t *slices;

		now.curve = t->curve;
		now.health = t->health;
		now.edges_total = t->edges_total;
		slices = slices_since(&h->progress, &now, now_s * (uint64_t)US);
		(void)json_array_extend(h->slices, slices);
		json_decref(slices);
		free(n->luck[i].v);
		free(n->world.v[i].edges.v);
	}
	sim_done(&n->sim);
	free(n->luck);
	free(n->world.v);
}

/* --- the round --------------------------------------------------------------- */

uint64_t round_run(const struct round *r, struct collected_world *io, uint64_t *edges)
{
	unsigned shards = r->shards->n;
	uint64_t end = r->policy->run_s;
	struct node *v = room_for(shards, sizeof(*v));

	for (unsigned i = 0; i < shards; i++) {
		node_begin(&v[i], r, &r->shards->v[i], io, r->seed * 100003 + i);
		if (v[i].begins_s > 0)
			end = r->policy->run_s + LATE;
	}
	for (uint64_t s = 0; s < end; s += ROUND_STEP_S) {
		for (unsigned i = 0; i < shards; i++)
			node_run(&v[i], r, s, s + ROUND_STEP_S);
		for (unsigned i = 0; i < shards; i++)
			node_give(&v[i], s + ROUND_STEP_S, io);
		*edges++ = io->edges;
	}
	for (unsigned i = 0; i < shards; i++)
		node_end(&v[i], r->began_s + end, io);
	for (size_t i = 0; i < io->world->n; i++)
		learn(&io->v[i]);
	free(v);
	return end;
}
