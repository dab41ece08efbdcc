/* SPDX-License-Identifier: Apache-2.0 */
/* Runs with an end, of minutes to an hour, on two days; the second day knows the first day's
 * results. New edges by the time, over those of a plain script that gives each target one equal
 * turn. */
#include "tests/bench/schedule.h"

#include <stdio.h>
#include <stdlib.h>

enum { CORES = 2, DAYS = 2, QUARTERS = 4, REPEATS = 10, POLICIES = 4 };

static const struct sim_load quiet = {.times = 1};

struct day_edges {
	double by[QUARTERS]; /* new edges after each quarter of the run */
	double area;	     /* mean over the run's seconds */
};

static struct sim_policy policy(const char *name, enum share_kind share, enum sim_turns turns)
{
	struct sim_policy p = sim_policy(name, RULE_PRICE, share, 0.05, 0);

	p.rules.share.idle = false;
	p.turns = turns;
	p.scale = 0.5; /* corpora are small at first */
	if (turns == SIM_ONE_EACH || share == SHARE_EQUAL)
		p.rule.kind = RULE_NONE;
	return p;
}

static void run_day(struct sim *s, struct day_edges *sum)
{
	uint64_t before = s->edges;
	double area = 0;

	for (uint64_t t = 1; t <= s->policy->run_s; t++) {
		sim_second(s);
		area += (double)(s->edges - before);
		for (int q = 0; q < QUARTERS; q++)
			if (t == s->policy->run_s * (uint64_t)(q + 1) / QUARTERS)
				sum->by[q] += (double)(s->edges - before);
	}
	sum->area += area / (double)s->policy->run_s;
}

/* The script runs the first day for all policies, so that the second day has the same start. */
static void run_days(const struct world *w, const struct sim_policy *p,
		     const struct sim_policy *first, uint64_t seed, struct day_edges sums[DAYS])
{
	struct day_edges ignored = {0};
	struct sim s;

	sim_begin(&s, w, p, CORES, quiet, seed);
	run_day(&s, &sums[0]);
	sim_done(&s);
	sim_begin(&s, w, first, CORES, quiet, seed);
	run_day(&s, &ignored);
	s.policy = p;
	s.fleet.rules = p->rules;
	sim_next_run(&s);
	for (size_t i = 0; i < w->n; i++)
		s.fleet.v[i].rule = p->rule;
	run_day(&s, &sums[1]);
	sim_done(&s);
}

static void print_row(unsigned day, const char *name, const struct day_edges *e,
		      const struct day_edges *script)
{
	printf("| %u | %-36s | %7.0f |", day, name, e->by[QUARTERS - 1] / REPEATS);
	for (int q = 0; q < QUARTERS; q++)
		printf(" %5.2f |", script->by[q] > 0 ? e->by[q] / script->by[q] : 0);
	printf(" %5.2f |\n", script->area > 0 ? e->area / script->area : 0);
}

static void print_runs(struct world *(*next)(uint64_t seed), uint64_t seed, uint64_t run_s)
{
	struct sim_policy policies[POLICIES] = {
	    policy("script, one equal turn each", SHARE_EQUAL, SIM_ONE_EACH),
	    policy("equal share, short turns", SHARE_EQUAL, SIM_TURNS),
	    policy("index, equal first turns (before)", SHARE_INDEX, SIM_FIRST_EQUAL),
	    policy("index (default)", SHARE_INDEX, SIM_TURNS),
	};
	struct day_edges sums[POLICIES][DAYS] = {0};

	for (int p = 0; p < POLICIES; p++)
		policies[p].run_s = run_s;
	for (uint64_t r = 0; r < REPEATS; r++) {
		struct world *w = next(seed + r);

		for (int p = 0; p < POLICIES; p++)
			run_days(w, &policies[p], &policies[0], seed + r, sums[p]);
	}
	printf("\n| day | policy | edges | 1/4 | 2/4 | 3/4 | 4/4 | area |\n"
	       "|---|---|---:|---:|---:|---:|---:|---:|\n");
	for (unsigned d = 0; d < DAYS; d++)
		for (int p = 0; p < POLICIES; p++)
			print_row(d + 1, policies[p].name, &sums[p][d], &sums[0][d]);
	(void)fflush(stdout);
}

static struct world the_world;

static struct world *recorded(uint64_t seed)
{
	struct chance c;

	chance_seed(&c, seed);
	for (size_t i = the_world.n; i > 1; i--) {
		size_t k = (size_t)(chance_uniform(&c) * (double)i);
		struct world_target t = the_world.v[k];

		the_world.v[k] = the_world.v[i - 1];
		the_world.v[i - 1] = t;
	}
	return &the_world;
}

static struct world *invented(uint64_t seed)
{
	world_done(&the_world);
	world_invent(&the_world, seed, &world_mixes[seed % 3], 32, 0);
	return &the_world;
}

bool schedule_short(const struct schedule_options *o)
{
	static const uint64_t runs_s[] = {300, 600, 3600};
	bool good = world_read(&the_world, o->curves);

	for (size_t i = 0; good && i < 2; i++) {
		printf("\n### Short runs, %zu recorded targets, %d workers, %llu minutes\n",
		       the_world.n, CORES, (unsigned long long)runs_s[i] / 60);
		print_runs(recorded, o->seed, runs_s[i]);
	}
	for (size_t i = 0; good && i < 3; i++) {
		printf("\n### Short runs, 32 invented targets, %d workers, %llu minutes\n", CORES,
		       (unsigned long long)runs_s[i] / 60);
		print_runs(invented, o->seed, runs_s[i]);
	}
	world_done(&the_world);
	return good;
}
