/* SPDX-License-Identifier: Apache-2.0 */
/* Many machines: how long shards with plans need for nine tenths of what one huge machine finds,
 * and shards that each always have the same share of the targets. */
#include "tests/bench/schedule.h"
#include "tests/bench/schedule_round.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	WORKERS = 2,	/* of a shard */
	ROUND_S = 1800, /* of fuzzing */
	ROUNDS = 12,
	HORIZON_S = ROUND_S * ROUNDS,
	LEAST_S = 30, /* as in `fuzzcell plan` */
	STEPS_MOST = 2 * HORIZON_S / ROUND_STEP_S,
};
#define PART 0.9

/* New edges over time. */
struct growth {
	uint64_t edges[STEPS_MOST];
	size_t n;
	double twice; /* share of the given edges */
};

static struct sim_policy policy(enum rule_kind rule, enum share_kind share, uint64_t run_s)
{
	struct sim_policy p = sim_policy("", rule, share, 0.05, 0);

	p.rules.share.idle = false;
	p.scale = 0.5;
	p.run_s = run_s;
	return p;
}

/* --- how targets are divided --------------------------------------------------- */

static void by_plan(const struct collected_world *c, const struct rule *rule, unsigned n,
		    struct shards *ret)
{
	struct shards_target *targets = room_for(c->world->n, sizeof(*targets));
	struct shards_spec spec = {.targets = targets,
				   .n = c->world->n,
				   .shards = n,
				   .workers = WORKERS,
				   .seconds = ROUND_S,
				   .least = LEAST_S};

	collected_world_outlook(c, rule, targets);
	shards_divide(&spec, ret);
	free(targets);
}

/* Target i is in shard i; the next ones begin with the first shard again.  Shards that are left
 * over begin with the first target again. */
static void equally(const struct collected_world *c, unsigned n, struct shards *ret)
{
	size_t targets = c->world->n, most = targets > n ? targets : n;

	*ret = (struct shards){.v = room_for(n, sizeof(*ret->v)), .n = n};
	for (unsigned i = 0; i < n; i++)
		ret->v[i].v = room_for(most / n + 1, sizeof(*ret->v[i].v));
	for (size_t i = 0; i < most; i++) {
		struct shards_one *s = &ret->v[i % n];

		s->v[s->n++] = (struct shards_piece){.target = i % targets, .parts = 1};
	}
}

/* --- campaigns ----------------------------------------------------------------- */

enum way { MACHINE, PLANNED, EQUAL };

static void run_rounds(const struct world *w, enum way way, unsigned n, struct trouble trouble,
		       struct growth *g)
{
	struct sim_policy p = policy(RULE_NONE, way == EQUAL ? SHARE_EQUAL : SHARE_INDEX,
				     way == MACHINE ? HORIZON_S : ROUND_S);
	struct round r = {
	    .policy = &p, .workers = way == MACHINE ? n * WORKERS : WORKERS, .trouble = trouble};
	struct collected_world c;

	*g = (struct growth){0};
	collected_world_begin(&c, w);
	while (r.began_s < HORIZON_S) {
		struct shards s;
		uint64_t took;

		if (way == PLANNED)
			by_plan(&c, &p.rule, n, &s);
		else
			equally(&c, way == MACHINE ? 1 : n, &s);
		r.shards = &s;
		r.seed++;
		took = round_run(&r, &c, g->edges + g->n);
		g->n += took / ROUND_STEP_S;
		r.began_s += took;
		shards_done(&s);
	}
	g->twice = c.given ? (double)c.twice / (double)c.given : 0;
	collected_world_done(&c);
}

/* The time in hours, between two steps; 0: never. */
static double hours_until(const struct growth *g, double wanted)
{
	double before = 0;

	for (size_t i = 0; i < g->n; i++) {
		double now = (double)g->edges[i];

		if (now >= wanted)
			return ((double)i +
				(now > before ? (wanted - before) / (now - before) : 1)) *
			       ROUND_STEP_S / 3600;
		before = now;
	}
	return 0;
}

/* Sums over worlds. */
struct column {
	double hours, edges; /* over the machine's */
	unsigned late;	     /* worlds in which it never had so many edges */
};

static size_t last_step(void)
{
	return HORIZON_S / ROUND_STEP_S - 1;
}

static void add_growth(struct column *io, const struct growth *g, const struct growth *machine)
{
	double wanted = PART * (double)machine->edges[last_step()], hours = hours_until(g, wanted);

	io->late += hours <= 0;
	io->hours += hours / hours_until(machine, wanted);
	io->edges += (double)g->edges[last_step()] / (double)machine->edges[last_step()];
}

static void print_column(const struct column *c, unsigned worlds)
{
	if (c->late > 0)
		printf(" never |");
	else
		printf(" %5.2f |", c->hours / worlds);
	printf(" %5.3f |", c->edges / worlds);
}

enum { COLUMNS = 4 };
static const struct {
	enum way way;
	struct trouble trouble;
} columns[COLUMNS] = {
    {PLANNED, {0, 0}},
    {PLANNED, {0.01, 0.05}},
    {EQUAL, {0, 0}},
    {EQUAL, {0.01, 0.05}},
};

static void print_shards(const struct schedule_options *o, size_t targets, unsigned n,
			 unsigned worlds)
{
	static struct growth machine, g;
	struct column sums[COLUMNS] = {0};
	double edges = 0, hours = 0, twice = 0;

	for (unsigned k = 0; k < worlds; k++) {
		struct world w;

		world_invent(&w, o->seed + 5000 + k, &world_mixes[0], targets, 0);
		run_rounds(&w, MACHINE, n, columns[0].trouble, &machine);
		edges += (double)machine.edges[last_step()];
		hours += hours_until(&machine, PART * (double)machine.edges[last_step()]);
		for (int i = 0; i < COLUMNS; i++) {
			run_rounds(&w, columns[i].way, n, columns[i].trouble, &g);
			add_growth(&sums[i], &g, &machine);
			twice += i == 0 ? g.twice : 0;
		}
		world_done(&w);
	}
	printf("| %7zu | %6u | %8.0f | %6.2f |", targets, n, edges / worlds, hours / worlds);
	for (int i = 0; i < COLUMNS; i++)
		print_column(&sums[i], worlds);
	printf(" %5.1f %% |\n", 100 * twice / worlds);
	(void)fflush(stdout);
}

void schedule_shards(const struct schedule_options *o)
{
	static const unsigned shards[] = {8, 64, 512};

	printf(
	    "\n### Shards of %d workers in rounds of %d min, mix %s, against one machine with all "
	    "workers, %d h\n\n"
	    "T: time until %.0f %% of the machine's edges; E: edges at the end; both over the "
	    "machine's.  Trouble: 1 %% of the shards die in each round, 5 %% have half of their "
	    "CPU "
	    "time and begin 5 min late.  twice: edges that two shards of a round found.\n\n"
	    "|         |        | machine  |        | planned |       | trouble |       | equal |  "
	    "     "
	    "| trouble |       | planned |\n"
	    "| targets | shards | edges    | T, h   | T     | E     | T     | E     | T     | E    "
	    " | "
	    "T     | E     | twice   |\n"
	    "|--------:|-------:|---------:|-------:|------:|------:|------:|------:|------:|------"
	    ":"
	    "|------:|------:|--------:|\n",
	    WORKERS, ROUND_S / 60, world_mixes[0].name, HORIZON_S / 3600, 100 * PART);
	for (size_t i = 0; i < (o->quick ? 1 : 3); i++)
		print_shards(o, 300, shards[i], o->replicates);
	for (size_t i = 0; !o->quick && i < 3; i++)
		print_shards(o, 3000, shards[i], (o->replicates + 2) / 3);
}
