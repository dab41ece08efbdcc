/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/schedule_sim.h"

#include <stdlib.h>

#define US 1e6

enum {
	BEGIN_S = 1000, /* uptime at the start */
	MAX_LEN = 4096,
	START_S = 2,
	START_EDGES_PER_S = 1000,
	RUNS_PER_BYTE = 100,
};

struct sim_policy sim_policy(const char *name, enum rule_kind rule, enum share_kind share,
			     double price, double cap_hours)
{
	struct sim_policy p = {
	    .name = name, .scale = 1, .rule = rule_preset(price, 1), .rules = fleet_preset(1)};

	p.rule.kind = rule;
	p.rule.cap_us = (uint64_t)(cap_hours * 3600 * US);
	p.rules.share.kind = share;
	p.rules.share.idle = true;
	return p;
}

static enum fleet_does sim_does(const void *arg, size_t i)
{
	const struct sim *s = arg;

	return s->cells[i].does;
}

void sim_begin(struct sim *s, const struct world *w, const struct sim_policy *p, unsigned workers,
	       struct sim_load load, uint64_t seed)
{
	*s = (struct sim){.world = w, .policy = p, .workers = workers, .load = load};
	s->cells = room_for(w->n, sizeof(*s->cells));
	s->fleet = (struct fleet){.rules = p->rules, .n = w->n, .does = sim_does, .arg = s};
	s->fleet.v = room_for(w->n, sizeof(*s->fleet.v));
	s->fleet.items = room_for(w->n, sizeof(*s->fleet.items));
	chance_seed(&s->fleet.chance, seed);
	chance_seed(&s->chance, seed + 1);
	s->now_s = s->began_s = BEGIN_S;
	for (size_t i = 0; i < w->n; i++) {
		fleet_join(&s->fleet.v[i], &(struct fleet_member){.rule = p->rule});
		s->cells[i].changes = room_for(w->v[i].n_commits, sizeof(struct sim_change));
	}
}

void sim_done(struct sim *s)
{
	for (size_t i = 0; i < s->world->n; i++)
		free(s->cells[i].changes);
	free(s->cells);
	free(s->fleet.v);
	free(s->fleet.items);
}

/* --- what a target finds --------------------------------------------------- */

static size_t advance(const struct times *t, size_t *io_at, double until)
{
	size_t before = *io_at;

	while (*io_at < t->n && t->v[*io_at] <= until)
		++*io_at;
	return *io_at - before;
}

static void find(struct sim *s, size_t i)
{
	const struct world_target *w = &s->world->v[i];
	struct sim_cell *c = &s->cells[i];

	s->edges += advance(&w->edges, &c->edges, c->fuzzed_s);
	s->bugs += advance(&w->bugs, &c->bugs, c->fuzzed_s);
	for (size_t k = 0; k < c->commits; k++) {
		struct sim_change *m = &c->changes[k];
		double until = c->fuzzed_s - m->from_s;
		size_t bugs = advance(&w->commits[k].bugs, &m->bugs, until);

		s->edges += advance(&w->commits[k].edges, &m->edges, until);
		s->bugs += bugs;
		s->changes_bugs += bugs;
		s->changes_bugs_s += bugs * (s->now_s - BEGIN_S - (uint64_t)w->commits[k].at_s);
	}
}

static struct fleet_news news_of(const struct sim *s, size_t i)
{
	const struct world_target *w = &s->world->v[i];
	const struct sim_cell *c = &s->cells[i];
	struct fleet_news n = {
	    .fuzzes = c->overhead_s <= 0,
	    .cov = w->base + w->corpus + c->edges,
	    .edges_total = w->edges_total,
	    .max_len = MAX_LEN,
	    .runs = (uint64_t)c->runs,
	};
	uint64_t lim = 4 + (uint64_t)(c->fuzzed_s * w->executions) / RUNS_PER_BYTE;

	for (size_t k = 0; k < c->commits; k++) {
		n.cov += c->changes[k].edges;
		n.edges_total += w->commits[k].edges.n;
	}
	n.lim = lim < MAX_LEN ? lim : MAX_LEN;
	return n;
}

/* --- the machine ----------------------------------------------------------- */

static void launch(struct sim *s, size_t i)
{
	struct sim_cell *c = &s->cells[i];

	c->reading = (struct effective_reading){.at_us = s->now_s * (uint64_t)US};
	c->overhead_s = s->policy->scale *
			(START_S + (double)(s->world->v[i].corpus + c->edges) / START_EDGES_PER_S);
	c->runs = 0;
	s->starts++;
	fleet_launched(&s->fleet.v[i], c->reading.at_us);
}

static void commits(struct sim *s)
{
	for (size_t i = 0; i < s->world->n; i++) {
		const struct world_target *w = &s->world->v[i];
		struct sim_cell *c = &s->cells[i];

		while (c->commits < w->n_commits &&
		       w->commits[c->commits].at_s <= (double)(s->now_s - BEGIN_S)) {
			struct fleet_target *t = &s->fleet.v[i];
			uint64_t cap_from_us = t->cap_from_us;
			bool at_cap = t->at_cap;

			c->changes[c->commits++].from_s = c->fuzzed_s;
			fleet_rebuilt(t);
			fleet_wake(&s->fleet, t);
			t->cap_from_us = cap_from_us; /* a queue's hour is shared by all builds */
			t->at_cap = at_cap;
			if (c->does == FLEET_RUNS)
				launch(s, i); /* the new build */
			else
				c->does = FLEET_WAITS;
		}
	}
}

static bool is_loaded(const struct sim *s)
{
	double at = (double)s->now_s;

	if (s->load.times <= 1)
		return false;
	return s->load.on_s <= 0 || (uint64_t)(at / s->load.on_s) % 2 == 1;
}

/* Share of a CPU that each cell gets in this second. */
static double share_now(struct sim *s)
{
	double share = 1 / s->load.times * (0.8 + 0.4 * chance_uniform(&s->chance));

	return is_loaded(s) && share < 1 ? share : 1;
}

static void obey(struct sim *s, const struct fleet_order *o)
{
	switch (o->what) {
	case FLEET_START:
		s->cells[o->target].does = FLEET_RUNS;
		launch(s, o->target);
		break;
	case FLEET_PAUSE:
	case FLEET_REST:
		s->cells[o->target].does = FLEET_WAITS;
		fleet_back(&s->fleet, &s->fleet.v[o->target]);
		break;
	case FLEET_PLATEAU:
	case FLEET_CAP:
	case FLEET_STARVED:
		s->cells[o->target].left = o->what;
		s->cells[o->target].does = FLEET_OUT;
		break;
	case FLEET_REST_ON:
	case FLEET_TRY: /* without strategies there is none */
	case FLEET_NOTHING:
		break;
	}
}

void sim_next_run(struct sim *s)
{
	s->fleet.idle_until_us = 0;
	s->fleet.successor = NULL;
	for (size_t i = 0; i < s->fleet.n; i++) {
		struct fleet_target *t = &s->fleet.v[i];
		struct fleet_target was = *t;

		s->cells[i].does = FLEET_WAITS;
		*t = (struct fleet_target){
		    .rule = was.rule, .known = was.known, .curve = was.curve, .health = was.health};
	}
	s->began_s = ++s->now_s;
	s->over = false;
}

static void one_more_pass(struct sim *s)
{
	for (size_t i = 0; i < s->fleet.n; i++) {
		struct fleet_target *t = &s->fleet.v[i];

		t->unpaying = false;
		if (t->at_cap) {
			t->at_cap = false;
			t->rule.cap_us += s->policy->rule.cap_us;
		}
		t->turn_began_us = 0;
		t->gain_wall_us = t->clock.wall_us; /* a new run starts without silence */
	}
	s->fleet.idle_until_us = 0;
}

/* The turns of runs before turns_set() existed. */
static void equal_first_turns(struct sim *s, uint64_t now, uint64_t left)
{
	struct fleet_rules *r = &s->fleet.rules;
	size_t without = 0, run = 0;

	*r = s->policy->rules;
	for (size_t i = 0; i < s->fleet.n; i++) {
		struct fleet_target *t = &s->fleet.v[i];

		t->due = t->turn_began_us == 0;
		without += t->due && s->cells[i].does == FLEET_WAITS;
		run += s->cells[i].does == FLEET_RUNS;
	}
	(void)now;
	if (without > 0) {
		uint64_t turn = turns_fair(r->turn_us, left, s->workers, without + run);

		r->turn_us = r->turn_wall_us = turn > (uint64_t)US ? turn : (uint64_t)US;
	}
	if (r->fresh_us > r->turn_us)
		r->rule_after_us = r->fresh_us = r->turn_us;
}

static void set_turns(struct sim *s, uint64_t now)
{
	const struct sim_policy *p = s->policy;
	struct turns t = {.turn_us = p->rules.turn_us,
			  .began_us = s->began_s * (uint64_t)US,
			  .deadline_us = (s->began_s + p->run_s) * (uint64_t)US};
	struct fleet_rules *r = &s->fleet.rules;

	if (!p->run_s)
		return;
	switch (p->turns) {
	case SIM_TURNS:
		turns_set(&s->fleet, &t, now, s->workers);
		break;
	case SIM_FIRST_EQUAL:
		equal_first_turns(s, now, t.deadline_us > now ? t.deadline_us - now : 0);
		break;
	case SIM_ONE_EACH:
		r->turn_us = r->turn_wall_us =
		    turns_fair(UINT64_MAX, t.deadline_us - t.began_us, s->workers, s->fleet.n);
		break;
	}
}

static unsigned idle_workers(const struct sim *s)
{
	unsigned runs = 0;

	for (size_t i = 0; i < s->fleet.n; i++)
		runs += s->cells[i].does == FLEET_RUNS;
	return s->workers > runs ? s->workers - runs : 0;
}

static void carry_out(struct sim *s)
{
	uint64_t now = s->now_s * (uint64_t)US;
	struct fleet_room room = {.run = s->workers, .calm = !is_loaded(s)};
	struct fleet_order o;

	set_turns(s, now);
	do {
		room.idle = idle_workers(s);
		o = fleet_next(&s->fleet, now, &room);
		obey(s, &o);
	} while (o.what != FLEET_NOTHING);
}

static void run_cell(struct sim *s, size_t i, double share)
{
	struct fleet_target *t = &s->fleet.v[i];
	struct sim_cell *c = &s->cells[i];
	double fuzz = share - c->overhead_s;
	struct fleet_news n;

	c->reading.at_us += (uint64_t)US;
	c->reading.usage_us += (uint64_t)(share * US);
	c->reading.cpu_stall_us += (uint64_t)((1 - share) * US);
	s->cpu_s += share;
	c->overhead_s = fuzz < 0 ? -fuzz : 0;
	if (fuzz > 0) {
		c->fuzzed_s += fuzz;
		c->runs += fuzz * s->world->v[i].executions;
		find(s, i);
	}
	fleet_read(t, &c->reading);
	n = news_of(s, i);
	(void)fleet_take_stats(t, &n);
}

void sim_second(struct sim *s)
{
	unsigned run = 0, out = 0;
	double share;

	commits(s);
	carry_out(s);
	share = share_now(s);
	s->now_s++;
	for (size_t i = 0; i < s->fleet.n; i++) {
		out += s->cells[i].does == FLEET_OUT;
		if (s->cells[i].does != FLEET_RUNS)
			continue;
		run++;
		run_cell(s, i, share);
	}
	s->over = out == s->fleet.n;
	if (run == 0 && s->policy->passes)
		one_more_pass(s);
}
